import { ConvoyError } from '@convoy/api/errors/convoy-error';

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

function redisUnavailable(cause: unknown): ConvoyError {
  const reason = redisFailureReason(cause);
  return new ConvoyError(
    'redisUnavailable',
    `Redis is unreachable (${reason}). Convoy keeps retrying and loses no data.`,
    {
      cause,
    },
  );
}
