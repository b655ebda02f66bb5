import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SecureContextOptions, SecureVersion } from 'node:tls';
import type { FastifyBaseLogger } from 'fastify';
import type { TlsSettings } from '../configuration/tls-settings.js';
import { ConvoyError } from '../errors/convoy-error.js';

/** Oldest version that clients may use; older ones are broken. */
const VERSION_MIN: SecureVersion = 'TLSv1.2';
/** Interval of looking for a renewed certificate. Orchestrators replace links, which file watchers miss. */
export const CERTIFICATE_CHECK_MS = 10_000;
/** Remaining validity below which a certificate is reported: renewals usually come 30 days before the end. */
const EXPIRES_SOON_MS = 14 * 24 * 3_600_000;

/** A server that can take another certificate while it runs. */
export interface CertificateTaker {
  setSecureContext(options: SecureContextOptions): void;
}

interface ReadFiles {
  readonly options: SecureContextOptions;
  /** The files' content, to recognise a change. */
  readonly content: string;
  readonly notAfter_ms: number;
}

function wrong(setting: string, problem: string, cause?: unknown): ConvoyError {
  return new ConvoyError('invalidConfiguration', `tls.${setting}: ${problem}`, { cause });
}

function readPem(path: string, setting: keyof TlsSettings): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw wrong(setting, `the file cannot be read (${code}). Check its path and permissions`, cause);
  }
}

function parsed<Value>(setting: keyof TlsSettings, what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (cause) {
    throw wrong(setting, `the file has no ${what} in PEM format`, cause);
  }
}

/** @throws ConvoyError `invalidConfiguration` that names the file's setting, and never its content */
function readFiles({ certFile, keyFile, clientCaFile }: TlsSettings): ReadFiles {
  const cert = readPem(certFile, 'certFile');
  const key = readPem(keyFile, 'keyFile');
  const ca = clientCaFile === undefined ? undefined : readPem(clientCaFile, 'clientCaFile');
  const certificate = parsed('certFile', 'certificate', () => new X509Certificate(cert));
  const privateKey = parsed('keyFile', 'private key without a passphrase', () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw wrong('keyFile', 'the key does not belong to the certificate of tls.certFile');
  if (ca !== undefined) parsed('clientCaFile', 'certificate', () => new X509Certificate(ca));
  return {
    options: { cert, key, ...(ca === undefined ? {} : { ca }), minVersion: VERSION_MIN },
    content: [cert, key, ca].join('\n'),
    notAfter_ms: Date.parse(certificate.validTo),
  };
}

type CertificateLog = Pick<FastifyBaseLogger, 'info' | 'warn'>;

/** The certificate of one server. It is read at the start, and again whenever its files change. */
export class ServerCertificate {
  #files: ReadFiles;
  /** Whether the end of the present certificate was logged. */
  #endLogged = false;
  /** Content of files that were refused, so that each is logged once. */
  #refused = '';

  /** @throws ConvoyError `invalidConfiguration` for files that no server can use */
  constructor(
    private readonly settings: TlsSettings,
    private readonly logger?: CertificateLog,
  ) {
    this.#files = readFiles(settings);
    this.#logEnd();
  }

  /**
   * Options of a server. It asks for client certificates if there is a CA for them; the access guard refuses requests
   * without one, since health paths need none.
   */
  get options(): SecureContextOptions & { requestCert: boolean; rejectUnauthorized: boolean } {
    return {
      ...this.#files.options,
      requestCert: this.settings.clientCaFile !== undefined,
      rejectUnauthorized: false,
    };
  }

  /** Reads the files again and gives the server a changed certificate. Logs unusable files. */
  renew(server: CertificateTaker): void {
    try {
      const files = readFiles(this.settings);
      if (files.content !== this.#files.content) {
        server.setSecureContext(files.options);
        this.#files = files;
        this.#endLogged = false;
        this.logger?.info({ event: 'certificateRenewed' }, 'the API uses the new certificate');
      }
      this.#refused = '';
    } catch (error) {
      const reason = error instanceof ConvoyError ? error.errorDescription : 'the server refuses the files';
      if (reason === this.#refused) return;
      this.#refused = reason;
      this.logger?.warn({ event: 'certificateNotRenewed', reason }, 'the API keeps its former certificate');
    }
    this.#logEnd();
  }

  /** Renews at intervals; returns the function that stops it. */
  watch(server: CertificateTaker): () => void {
    const timer = setInterval(() => this.renew(server), CERTIFICATE_CHECK_MS).unref();
    return () => clearInterval(timer);
  }

  #logEnd(): void {
    const left_ms = this.#files.notAfter_ms - Date.now();
    if (this.#endLogged || left_ms > EXPIRES_SOON_MS) return;
    this.#endLogged = true;
    const notAfter = new Date(this.#files.notAfter_ms).toISOString();
    if (left_ms > 0)
      this.logger?.warn({ event: 'certificateExpiresSoon', notAfter }, 'the API needs a new certificate');
    else this.logger?.warn({ event: 'certificateExpired', notAfter }, 'clients refuse the certificate: renew it');
  }
}
