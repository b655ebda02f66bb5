import { z } from 'zod';

const path = z.string().min(1, 'must not be empty');

/** `tls` of a process's configuration: paths of PEM files. */
export const tlsSchema = z.strictObject({
  /** The certificate, with those between it and its CA. */
  certFile: path,
  /** The certificate's private key, without a passphrase. */
  keyFile: path,
  /** CAs of client certificates; every request then needs a certificate of one of them. */
  clientCaFile: path.optional(),
});

/** Files of the certificate with which a process serves its API. */
export type TlsSettings = Readonly<z.output<typeof tlsSchema>>;
