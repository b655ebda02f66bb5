/** What went wrong with a connection, whatever the server; each client knows what to do about it. */
export type ConnectionCauseKind =
  /** The host name leads nowhere. */
  | 'hostName'
  /** Nobody listens. */
  | 'refused'
  /** No packet comes back. */
  | 'network'
  /** The server closed the connection instead of answering. */
  | 'closed'
  /** The TLS handshake failed, or the server does not speak TLS. */
  | 'tls'
  /** The certificate's authority is not known here. */
  | 'authority'
  | 'certificateName'
  | 'certificateExpired'
  /** The server did not accept the client's certificate, or lack of one. */
  | 'clientCertificate'
  /** A file with a certificate or key cannot be read. */
  | 'file';

/** The cause of a failed connection. */
export interface ConnectionCause {
  readonly kind: ConnectionCauseKind;
  /** What happened, with the system's name for it: `the connection was refused (ECONNREFUSED)`. */
  readonly text: string;
}

const unknownAuthority = ['authority', 'the certificate was signed by an unknown authority'] as const;
const clientRefused = ['clientCertificate', 'the server does not accept the certificate of this client'] as const;

/** By the error code of the system, the resolver or the TLS library. */
const causes: Readonly<Record<string, readonly [ConnectionCauseKind, string]>> = {
  ENOTFOUND: ['hostName', 'the host name is unknown'],
  ENODATA: ['hostName', 'the host name has no such DNS record'],
  EAI_AGAIN: ['hostName', 'the DNS server does not answer'],
  ECONNREFUSED: ['refused', 'the connection was refused'],
  EHOSTUNREACH: ['network', 'there is no route to the host'],
  ENETUNREACH: ['network', 'there is no route to the network'],
  ETIMEDOUT: ['network', 'the host does not answer'],
  ECONNRESET: ['closed', 'the connection was closed during the handshake'],
  EPIPE: ['closed', 'the connection was closed during the handshake'],
  UND_ERR_SOCKET: ['closed', 'the server closed the connection'],
  EPROTO: ['tls', 'the TLS handshake failed'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['tls', 'the server does not speak TLS'],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: ['tls', 'the server does not speak TLS'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['certificateName', 'the certificate is for another host name'],
  CERT_HAS_EXPIRED: ['certificateExpired', 'the certificate has expired'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['authority', 'the certificate is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ['clientCertificate', 'the server requires a certificate of this client'],
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: clientRefused,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: clientRefused,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: clientRefused,
};

/** Causes within causes that are looked at; no library nests deeper. */
const depthMax = 8;

/**
 * The cause of a failure to connect, by the error codes of the failure and its causes, never by their texts: those
 * contain addresses.
 * @returns null if no code is known
 */
export function connectionCause(error: unknown): ConnectionCause | null {
  const codes = codesOf(error, depthMax);
  const code = codes.find((found) => found.code in causes || found.isFile || isTls(found.code));
  if (code === undefined) return null;
  if (code.isFile) return { kind: 'file', text: `a file with certificates cannot be read (${code.code})` };
  const [kind, text] = causes[code.code] ?? (['tls', 'the TLS handshake failed'] as const);
  return { kind, text: `${text} (${code.code})` };
}

function isTls(code: string): boolean {
  return /^ERR_(?:SSL|TLS|OSSL)_\w{1,80}$/.test(code);
}

interface FoundCode {
  readonly code: string;
  /** Whether opening a file failed. */
  readonly isFile: boolean;
}

function codesOf(error: unknown, depth: number): FoundCode[] {
  if (!(error instanceof Error) || depth === 0) return [];
  const { code, syscall } = error as NodeJS.ErrnoException;
  const own = typeof code === 'string' ? [{ code, isFile: syscall === 'open' }] : [];
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return [...own, ...[error.cause, ...inner].flatMap((one) => codesOf(one, depth - 1))];
}
