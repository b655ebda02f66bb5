import { setTimeout as delay } from 'node:timers/promises';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Often enough for a display that looks alive. */
const pollInterval_ms = 250;
/** A service that does not answer for this long is taken for gone. */
const silenceMax_ms = 60_000;

/** What was waited for has not come in time. */
export class NotInTime extends Error {
  override readonly name = 'NotInTime';
}

export interface FollowOptions<Reply> {
  /** The condition in words, for the error. */
  what: string;
  limit_ms: number;
  until: (reply: Reply) => boolean;
  /** Gets every reply. */
  show?: (reply: Reply) => void;
  signal?: AbortSignal;
}

/**
 * Reads progress again and again until a condition holds. Failures that pass by themselves are waited out.
 * @returns the first reply for which the condition holds
 * @throws ConvoyError when the migration has failed, NotInTime, AbortError with the signal's reason as its cause
 */
export async function follow<Reply>(
  read: () => Promise<Reply>,
  { what, limit_ms, until, show, signal }: FollowOptions<Reply>,
): Promise<Reply> {
  const deadline = performance.now() + limit_ms;
  let silentSince: number | undefined;
  for (;;) {
    try {
      const reply = await read();
      silentSince = undefined;
      show?.(reply);
      if (until(reply)) return reply;
    } catch (error) {
      silentSince ??= performance.now();
      const passes =
        error instanceof ConvoyError && error.retry === 'automatic' && performance.now() - silentSince < silenceMax_ms;
      if (!passes) throw error;
    }
    if (performance.now() > deadline) throw new NotInTime(`Not within ${limit_ms / 1000} s: ${what}.`);
    await delay(pollInterval_ms, undefined, signal ? { signal } : {});
  }
}
