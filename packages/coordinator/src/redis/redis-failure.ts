import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Redis begins its error replies with a code in capitals, for example `WRONGPASS` or `READONLY`. */
const REPLY_CODE = /^[A-Z][A-Z0-9]{2,31}\b/;

/**
 * A short reason that may be logged. Errors of the driver carry the command's arguments (with AUTH, the password) and
 * addresses, so nothing but a code of the system or of the server is taken over.
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
 * Waits for a call to Redis, but no longer than a time limit. A process that was not let run for that time takes a reply
 * that has come meanwhile.
 * @param call the reply to come; it may still come later and is then dropped
 * @param limit_ms milliseconds
 * @throws ConvoyError `redisUnavailable` with the reason
 */
export async function callRedis<Reply>(call: Promise<Reply>, limit_ms: number): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    // Of both that wait, the timer would be seen before the socket.
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
    `Redis cannot be used (${reason}); it is retried, and no data is lost meanwhile.`,
    {
      cause,
    },
  );
}
