import { MongoServerSelectionError } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { className, failureName, isNetworkFailure } from './failure.js';

/** The reason why Convoy cannot connect to a cluster, in words for its operator. */
export interface ConnectionFailure {
  /** `host:port` of the server that failed; null if the failure names none. Only shown to requests with a token. */
  readonly host: string | null;
  /** What happened, with the system's or the server's name for it: `the connection was refused (ECONNREFUSED)`. */
  readonly cause: string;
  /** What to do, as one sentence. */
  readonly advice: string;
}

type Explanation = Pick<ConnectionFailure, 'cause' | 'advice'>;

const dnsAdvice = 'Check the host names in its connection string, and the DNS of this machine.';
const networkAdvice = 'Check its host and port, and the network and firewalls between this machine and the server.';
const authorityAdvice = 'Name the authority that signed it with tlsCAFile in the connection string.';
const tlsAdvice =
  'Check that the server uses TLS on this port: remove tls=true from the connection string if it does not.';

/** By the error code of the system, the resolver or the TLS library. */
const explanations: Readonly<Record<string, Explanation>> = {
  ENOTFOUND: { cause: 'the host name is unknown', advice: dnsAdvice },
  ENODATA: { cause: 'the host name has no such DNS record', advice: dnsAdvice },
  EAI_AGAIN: { cause: 'the DNS server does not answer', advice: dnsAdvice },
  ECONNREFUSED: {
    cause: 'the connection was refused',
    advice: 'Check the port, and that the server runs and listens on this address.',
  },
  EHOSTUNREACH: { cause: 'there is no route to the host', advice: networkAdvice },
  ENETUNREACH: { cause: 'there is no route to the network', advice: networkAdvice },
  ETIMEDOUT: { cause: 'the host does not answer', advice: networkAdvice },
  ECONNRESET: { cause: 'the connection was closed during the handshake', advice: tlsAdvice },
  EPROTO: { cause: 'the TLS handshake failed', advice: tlsAdvice },
  ERR_SSL_WRONG_VERSION_NUMBER: { cause: 'the server does not speak TLS', advice: tlsAdvice },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    cause: 'the certificate is for another host name',
    advice: 'Use the host name that the certificate has.',
  },
  CERT_HAS_EXPIRED: { cause: 'the certificate has expired', advice: 'Renew the certificate of the server.' },
  DEPTH_ZERO_SELF_SIGNED_CERT: { cause: 'the certificate is self-signed', advice: authorityAdvice },
  SELF_SIGNED_CERT_IN_CHAIN: { cause: 'the certificate was signed by an unknown authority', advice: authorityAdvice },
  UNABLE_TO_GET_ISSUER_CERT: { cause: 'the certificate was signed by an unknown authority', advice: authorityAdvice },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    cause: 'the certificate was signed by an unknown authority',
    advice: authorityAdvice,
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    cause: 'the certificate was signed by an unknown authority',
    advice: authorityAdvice,
  },
};

/** The driver only reports that the connection was closed; servers that require TLS close plain connections. */
const closed: Explanation = {
  cause: 'the server closed the connection',
  advice:
    'Check that the port is that of a MongoDB server, and add tls=true to the connection string if it requires TLS.',
};

/** A refused login. */
export const loginRefused: ConnectionFailure = {
  host: null,
  cause: 'the server refused user or password (AuthenticationFailed)',
  advice:
    'Check user, password and authSource; in a connection string, percent-encode @ : / ? # [ ] and % of a ' +
    'password, as %40 for @.',
};

/**
 * Explains why Convoy could not connect to a cluster.
 * @param error as the driver or the resolver threw it
 * @returns null for anything but a network failure
 */
export function connectionFailure(error: unknown): ConnectionFailure | null {
  if (!isNetworkFailure(error)) return null;
  const [host, causes] = error instanceof MongoServerSelectionError ? failedServer(error) : [null, causesOf(error)];
  const code = causes.map(systemCode).find((found) => found !== null) ?? null;
  const known = code === null ? undefined : explanations[code];
  if (known !== undefined) return { host, cause: `${known.cause} (${code})`, advice: known.advice };
  const isSilent = causes.some((cause) => className(cause) === 'MongoNetworkTimeoutError');
  if (isSilent) return { host, cause: 'the server did not answer in time', advice: networkAdvice };
  if (error instanceof MongoServerSelectionError && causes.length > 0) return { host, ...closed };
  return { host, cause: code ?? failureName(error), advice: networkAdvice };
}

/**
 * Which cluster cannot be reached, at which host, why, and what to do.
 * @param what the cluster as the start of the sentence, for example `The source cluster0`
 */
export function unreachable(what: string, { host, cause, advice }: ConnectionFailure): string {
  return `${what} cannot be reached: ${host === null ? '' : `${host}: `}${cause}. ${advice}`;
}

/** Turns a failure to connect into the ConvoyError of a command, for its user; returns every other error unchanged. */
export function asUnavailable(role: 'source' | 'destination', name: string, error: unknown): unknown {
  const failure = connectionFailure(error);
  return failure === null
    ? error
    : new ConvoyError(`${role}Unavailable`, unreachable(`The ${role} ${name}`, failure), { cause: error });
}

/** The first server that failed, and its error. */
function failedServer(error: MongoServerSelectionError): [string | null, Error[]] {
  for (const [host, { error: failure }] of error.reason?.servers ?? [])
    if (failure !== null) return [host, causesOf(failure)];
  return [null, causesOf(error.cause)];
}

/** An error and its causes, the last cause last. */
function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

function systemCode(error: Error): string | null {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : null;
}
