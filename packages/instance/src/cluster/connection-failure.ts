import { MongoAPIError, MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { connectionCause, type ConnectionCauseKind } from '@convoy/api/connection/connection-cause';
import { ConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import { NoAnswerError } from '../async/clock.js';
import type { FailureMeaning } from '../async/retry.js';
import {
  apiVersionMissingCode,
  requireApiVersionOff,
  authenticationFailedCode,
  className,
  classify,
  codeOf,
  failureName,
  isNetworkFailure,
  unauthorizedCode,
} from './failure.js';

/** The reason why Convoy cannot connect to a cluster, in words for its operator. */
export interface ConnectionFailure {
  /** `host:port` of the server that failed; null if the failure names none. Only shown to requests with a token. */
  readonly host: string | null;
  /** What happened, with the system's or the server's name for it: `the connection was refused (ECONNREFUSED)`. */
  readonly cause: string;
  /** What to do, as one sentence. */
  readonly advice: string;
  /** Whether the server answered, but is not one that Convoy can use. */
  readonly isUnfit?: true;
}

type Explanation = Omit<ConnectionFailure, 'host'>;

/** What of a connection string explains a failure. */
export interface LoginAndTls {
  readonly hasLogin: boolean;
  readonly usesTls: boolean;
  /** Whether the client's certificate is its login (MONGODB-X509). */
  readonly usesCertificate: boolean;
}

const networkAdvice = 'Check its host and port, and the network and firewalls between this machine and the server.';
const tlsAdvice =
  'Check that the server uses TLS on this port: remove tls=true from the connection string if it does not.';

/**
 * Servers look at the certificate of a client once the handshake is over, and close the connection without a word
 * (server source: ssl_manager_openssl.cpp).
 */
const closedAdvice =
  `${tlsAdvice} If it does, name a client certificate that it accepts with tlsCertificateKeyFile in the connection ` +
  'string.';

const advices: Readonly<Record<ConnectionCauseKind, string>> = {
  hostName: 'Check the host names in its connection string, and the DNS of this machine.',
  refused: 'Check the port, and that the server runs and listens on this address.',
  network: networkAdvice,
  closed: closedAdvice,
  tls: tlsAdvice,
  authority: 'Name the authority that signed it with tlsCAFile in the connection string.',
  certificateName: 'Use the host name that the certificate has.',
  certificateExpired: 'Renew the certificate of the server.',
  clientCertificate: 'Name a certificate that the server accepts with tlsCertificateKeyFile in the connection string.',
  file: 'Check path and permissions of tlsCAFile and tlsCertificateKeyFile in the connection string.',
};

/** The driver only reports that the connection was closed; servers that require TLS close plain connections. */
const closed: Explanation = {
  cause: 'the server closed the connection',
  advice:
    'Check that the port is that of a MongoDB server, and add tls=true to the connection string if it requires TLS.',
};

const closedTls: Explanation = { cause: closed.cause, advice: closedAdvice };

const silent: Explanation = { cause: 'the server did not answer in time', advice: networkAdvice };

const withoutPrimary: Explanation = {
  cause: 'the replica set has no primary',
  advice: 'Check that a majority of its members runs: rs.status() shows why none is elected.',
};

const noneAllowed: Explanation = {
  cause: 'no member of the replica set is one that readPreference and readPreferenceTags allow to read from',
  advice:
    'Check that such a member runs (rs.status(), and the tags in rs.conf()), or allow others to be read from. Sets ' +
    'do not show hidden and delayed members to clients.',
};

/** Servers without TLS wait for the rest of what they take for a message. */
const silentTls: Explanation = { cause: 'the server did not answer the TLS handshake in time', advice: tlsAdvice };

const loginRefused: Explanation = {
  cause: 'the server refused user or password (AuthenticationFailed)',
  advice:
    'Check user, password and authSource; in a connection string, percent-encode @ : / ? # [ ] and % of a ' +
    'password, as %40 for @.',
};

/** By the name of the server's error. */
const certificateRefused = (codeName: string): Explanation => ({
  cause: `the server has no user for the certificate of this client (${codeName})`,
  advice:
    'Create its subject as a user, db.getSiblingDB("$external").runCommand({createUser: SUBJECT, roles: […]}), on ' +
    'shards too if they are read directly; openssl x509 -noout -subject -nameopt RFC2253 -in FILE prints it.',
});

const mechanismRefused: Explanation = {
  cause: 'the server does not offer this way to log in (MechanismUnavailable)',
  advice: 'Correct authMechanism in the connection string, or remove it: the server then chooses.',
};

const loginMissing: Explanation = {
  cause: 'the server requires a login (Unauthorized)',
  advice: 'Add user and password to the connection string: mongodb://USER:PASSWORD@HOST:PORT/?authSource=admin.',
};

const versionedOnly: Explanation = {
  cause: 'its parameter requireApiVersion refuses commands that no stable API has, and Convoy needs such',
  advice: requireApiVersionOff,
  isUnfit: true,
};

/** For example a login by AWS with a password. */
const settingsRefused: Explanation = {
  cause: 'the MongoDB driver cannot use the connection string',
  advice: 'Check authMechanism and the other options in it.',
};

/** UserNotFound, and AtlasError: Atlas reports a refused login by it. */
const loginCodes: ReadonlySet<number | null> = new Set([11, authenticationFailedCode, 8000]);
const badValueCode = 2;
const mechanismUnavailableCode = 334;

/** A cluster that cannot be reached now; trying again may help. */
export class UnreachableClusterError extends MongoNetworkError {
  override get name(): string {
    return 'UnreachableClusterError';
  }

  /** @param cluster `cluster0` or `cluster1` */
  constructor(
    readonly cluster: string,
    readonly failure: ConnectionFailure,
    cause: Error,
  ) {
    super('a cluster cannot be reached', { cause });
  }

  /** The failure of a call that needed this cluster; before a reverse, `cluster0` is the source. */
  get error(): ErrorName {
    return this.cluster === 'cluster0' ? 'sourceUnavailable' : 'destinationUnavailable';
  }
}

/** A cluster that refuses the login, or is not one that Convoy can use: trying again does not help. */
export class RefusedClusterError extends ConvoyError {
  constructor(
    error: ErrorName,
    readonly cluster: string,
    readonly failure: ConnectionFailure,
    cause?: unknown,
  ) {
    super(error, unreachable(cluster, failure), cause === undefined ? {} : { cause });
  }
}

/**
 * What opening a cluster throws for a failure of the driver or the server: it names cluster, host, cause and remedy.
 * @param host the server that was asked last; for failures that name none
 * @returns the error itself if it is no failure to connect
 */
export function asConnectionError(
  cluster: string,
  error: unknown,
  settings: LoginAndTls & { readonly host: string },
): unknown {
  if (error instanceof ConvoyError) return error;
  const login = loginFailure(error, settings);
  if (login !== null)
    return new RefusedClusterError('authenticationFailed', cluster, { host: settings.host, ...login }, error);
  const cause = connectionCause(error);
  if (cause?.kind === 'file')
    return new RefusedClusterError('invalidConfiguration', cluster, {
      host: null,
      cause: cause.text,
      advice: advices.file,
    });
  if (error instanceof MongoAPIError)
    return new RefusedClusterError('invalidConfiguration', cluster, { host: null, ...settingsRefused }, error);
  if (codeOf(error) === apiVersionMissingCode)
    return new RefusedClusterError(
      'serverParameterInTheWay',
      cluster,
      { host: settings.host, ...versionedOnly },
      error,
    );
  const tooOld = incompatible(error);
  if (tooOld !== null)
    return new RefusedClusterError('unsupportedServerVersion', cluster, { host: settings.host, ...tooOld }, error);
  const failure = connectionFailure(error, settings);
  return failure === null ? error : new UnreachableClusterError(cluster, failure, error as Error);
}

function loginFailure(error: unknown, { hasLogin, usesCertificate }: LoginAndTls): Explanation | null {
  if (!(error instanceof MongoServerError)) return null;
  const code = codeOf(error);
  if (loginCodes.has(code)) return usesCertificate ? certificateRefused(error.codeName ?? error.name) : loginRefused;
  // Servers call a mechanism that they do not know a bad value.
  if (code === mechanismUnavailableCode || (code === badValueCode && error.hasErrorLabel('HandshakeError')))
    return mechanismRefused;
  return code === unauthorizedCode && !hasLogin ? loginMissing : null;
}

/** The driver connects to no server that is older than what it supports. */
function incompatible(error: unknown): Explanation | null {
  const description = error instanceof MongoServerSelectionError ? error.reason : undefined;
  if (description?.compatible !== false) return null;
  return {
    cause: 'the server is too old',
    advice: 'Upgrade the cluster: Convoy needs 4.4 or later.',
    isUnfit: true,
  };
}

/**
 * Explains why Convoy could not connect to a cluster.
 * @param error as the driver, the resolver or opening the cluster threw it
 * @returns null for anything but a network failure
 */
export function connectionFailure(
  error: unknown,
  { usesTls }: Pick<LoginAndTls, 'usesTls'> = { usesTls: false },
): ConnectionFailure | null {
  if (error instanceof UnreachableClusterError) return error.failure;
  if (!isNetworkFailure(error)) return null;
  const [host, failure]: [string | null, unknown] =
    error instanceof MongoServerSelectionError ? failedServer(error) : [null, error];
  const unchosen = error instanceof MongoServerSelectionError ? notChosen(error) : null;
  if (unchosen !== null) return { host: null, ...unchosen };
  const cause = connectionCause(failure);
  if (cause !== null) return { host, cause: cause.text, advice: advices[cause.kind] };
  if (failure instanceof NoAnswerError) return { host, ...silent };
  if (failure === null || isTimeout(failure)) return { host, ...(usesTls ? silentTls : silent) };
  if (error instanceof MongoServerSelectionError) return { host, ...(usesTls ? closedTls : closed) };
  return { host, cause: failureName(error), advice: networkAdvice };
}

/** What else than host and port is to be checked of a shard, whose address is the cluster's choice. */
const shardAdvices: Readonly<Partial<Record<ConnectionCauseKind, string>>> = {
  authority: advices.authority,
  certificateName:
    'Its certificate needs the host name under which listShards shows it; otherwise set sourceAccess to router.',
  certificateExpired: advices.certificateExpired,
  clientCertificate: advices.clientCertificate,
};

/** What to do about the certificates of a shard that cannot be reached; empty for other failures. */
export function shardAdvice(error: unknown): string {
  const failure = error instanceof MongoServerSelectionError ? failedServer(error)[1] : error;
  const cause = connectionCause(failure);
  return (cause === null ? undefined : shardAdvices[cause.kind]) ?? '';
}

/** The cause of a failure in words, without addresses; the failure's name where it is not about a connection. */
export function causeText(error: unknown): string {
  return connectionFailure(error)?.cause ?? failureName(error);
}

/**
 * Which cluster cannot be reached or used, at which host, why, and what to do.
 * @param what the cluster as the start of the sentence, for example `The source cluster0`
 */
export function unreachable(what: string, { host, cause, advice, isUnfit }: ConnectionFailure): string {
  const verb = isUnfit === true ? 'used' : 'reached';
  return `${what} cannot be ${verb}: ${host === null ? '' : `${host}: `}${cause}. ${advice}`;
}

/** What failures of clusters mean for the repetition of a call. */
export const clusterFailures: FailureMeaning = {
  isRetryable: (error) => classify(error) === 'retryable',
  textOf: causeText,
  endingOf: (error) =>
    error instanceof UnreachableClusterError
      ? `. ${unreachable(error.cluster, error.failure)}`
      : `, most recently: ${causeText(error)}. Remove the cause and resume.`,
};

/** Turns a failure to connect into the ConvoyError of a command, for its user; returns every other error unchanged. */
export function asUnavailable(role: 'source' | 'destination', name: string, error: unknown): unknown {
  const failure = connectionFailure(error);
  return failure === null
    ? error
    : new ConvoyError(`${role}Unavailable`, unreachable(`The ${role} ${name}`, failure), { cause: error });
}

/** Why none of the members was chosen although the driver reaches all; null if it does not. */
function notChosen({ reason }: MongoServerSelectionError): Explanation | null {
  const servers = [...(reason?.servers.values() ?? [])];
  const areKnown = servers.length > 0 && servers.every((one) => one.error === null && one.type !== 'Unknown');
  if (!areKnown) return null;
  if (reason?.type === 'ReplicaSetNoPrimary') return withoutPrimary;
  return reason?.type === 'ReplicaSetWithPrimary' ? noneAllowed : null;
}

/** The first server that failed, and its error; null for one that is silent. */
function failedServer(error: MongoServerSelectionError): [string | null, Error | null] {
  const servers = [...(error.reason?.servers ?? [])];
  for (const [host, { error: failure }] of servers) if (failure !== null) return [host, failure];
  const cause = error.cause instanceof Error ? error.cause : null;
  return [cause === null ? (servers[0]?.[0] ?? null) : null, cause];
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (className(error) === 'MongoNetworkTimeoutError' || isTimeout(error.cause));
}
