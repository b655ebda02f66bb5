import { connectionCause, type ConnectionCauseKind } from '@convoy/api/connection/connection-cause';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';

/** Redis error replies begin with a code in capitals, for example `WRONGPASS` or `READONLY`. */
const REPLY_CODE = /^[A-Z][A-Z0-9]{2,31}\b/;

/**
 * A short reason that is safe to log. Driver errors contain the command's arguments (with AUTH, the password) and
 * addresses, so only a code of the system or the server is used.
 */
export function redisFailureReason(thrown: unknown): string {
  if (thrown instanceof ConvoyError)
    return thrown.cause === undefined ? thrown.error : redisFailureReason(thrown.cause);
  if (!(thrown instanceof Error)) return 'unknown';
  const code: unknown = 'code' in thrown ? thrown.code : undefined;
  if (typeof code === 'string') return code;
  return REPLY_CODE.exec(thrown.message)?.[0] ?? thrown.name;
}

const addressAdvice = 'Check host and port of Redis, and the network and firewalls between this machine and Redis.';
const tlsAdvice = 'Use rediss:// if Redis requires TLS on this port, and redis:// if it has none.';
const loginAdvice =
  'Correct user and password in the URL of Redis; percent-encode @ : / ? # [ ] and % of a password, as %40 for @.';

const advices: Readonly<Record<ConnectionCauseKind, string>> = {
  hostName: 'Check the host name in the URL of Redis, and the DNS of this machine.',
  refused: 'Check host and port in the URL of Redis, and that Redis runs and listens there.',
  network: addressAdvice,
  closed: tlsAdvice,
  tls: tlsAdvice,
  authority: 'Name the authority that signed it as redis.tls.caFile.',
  certificateName: 'Use the host name that the certificate has, or name it as redis.tls.servername.',
  certificateExpired: 'Renew the certificate of Redis.',
  clientCertificate: 'Name a certificate that Redis accepts as redis.tls.certFile and redis.tls.keyFile.',
  file: 'Check path and permissions of the files of redis.tls.',
};

const replies: Readonly<Record<string, readonly [string, string]>> = {
  WRONGPASS: ['Redis refused user or password', loginAdvice],
  NOAUTH: ['Redis requires a password', 'Add it to the URL of Redis.'],
  ERR: ['Redis refused the login or the database', loginAdvice],
  NOPERM: ['the user may not do this', 'Grant this user of Redis all commands on the keys and channels of Convoy.'],
  LOADING: ['Redis loads its data', 'Wait until it has loaded them.'],
  TIMEOUT: ['no answer arrived in time', `${addressAdvice} ${tlsAdvice}`],
  ParserError: ['the server does not speak the protocol of Redis', 'Check that the port is that of Redis.'],
};

/**
 * Why Redis cannot be used, and what to do: never an address, a user or a password.
 * @returns two sentences, the first one without its start
 */
export function redisFailureText(thrown: unknown): string {
  const cause = thrown instanceof ConvoyError ? thrown.cause : thrown;
  const known = connectionCause(cause);
  if (known !== null) return `${known.text}. ${advices[known.kind]}`;
  const reason = redisFailureReason(thrown);
  const [text, advice] = replies[reason] ?? ['it does not answer as expected', addressAdvice];
  return `${text} (${reason}). ${advice}`;
}

/**
 * Waits for a call to Redis up to a time limit. If the process itself was stopped for that time, it accepts a reply
 * that arrived meanwhile.
 * @param call the pending reply; a later one is dropped
 * @param limit_ms milliseconds
 * @throws ConvoyError `redisUnavailable` with the reason
 */
export async function callRedis<Reply>(call: Promise<Reply>, limit_ms: number): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    // After a stop the timer fires before the socket is read.
    timer = setTimeout(
      () => setImmediate(() => reject(Object.assign(new Error('no reply in time'), { code: 'TIMEOUT' }))),
      limit_ms,
    );
  });
  try {
    return await Promise.race([call, limit]);
  } catch (cause) {
    throw cause instanceof ConvoyError ? cause : redisUnavailable(cause);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether Redis itself answered a call with an error, and so did not carry it out. */
export function isErrorReply(thrown: unknown): boolean {
  const cause = thrown instanceof ConvoyError ? thrown.cause : thrown;
  return cause instanceof Error && cause.name === 'ReplyError';
}

/**
 * The error of a command that Redis did not take, with the cause that a call's time limit hides. Others pass unchanged.
 * @param why the last failure to connect; null while unknown
 */
export function notSent(error: unknown, command: string, why: string | null): unknown {
  if (!isConvoyError(error, 'redisUnavailable') || why === null) return error;
  const description = `Redis cannot be reached, so ${command} was not sent: ${why} Repeat it once Redis is back.`;
  return new ConvoyError('redisUnavailable', description, { cause: error });
}

function redisUnavailable(cause: unknown): ConvoyError {
  return new ConvoyError(
    'redisUnavailable',
    `Redis cannot be reached: ${redisFailureText(cause)} Convoy keeps retrying and loses no data.`,
    { cause },
  );
}
