import { setTimeout as delay } from 'node:timers/promises';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Fast enough for a display that looks live. */
const pollInterval_ms = 250;
/** After this silence the service counts as dead. */
const silenceMax_ms = 60_000;

/** The condition was not met in time. */
export class NotInTime extends Error {
  override readonly name = 'NotInTime';
}

export interface FollowOptions<Reply> {
  /** The condition as text, for the error. */
  what: string;
  limit_ms: number;
  until: (reply: Reply) => boolean;
  /** Receives every reply. */
  show?: (reply: Reply) => void;
  signal?: AbortSignal;
}

/**
 * Polls the progress until a condition holds, and waits out temporary failures.
 * @returns the first reply that meets the condition
 * @throws ConvoyError when the migration failed, NotInTime, AbortError with the signal's reason as its cause
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
