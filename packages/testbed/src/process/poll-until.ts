import { setTimeout as delay } from 'node:timers/promises';

/** Often enough not to be noticed, seldom enough not to be a load. */
const interval_ms = 100;

/**
 * Asks again and again until the answer is neither `false` nor `undefined`, and returns it.
 * @param what the condition, for the error: "… did not happen within 30 s: `what`"
 * @param check a condition; what it throws ends the wait at once
 * @throws Error when the time is over, or the signal's reason
 */
export async function pollUntil<Answer>(
  what: string,
  limit_ms: number,
  check: () => Promise<Answer | false | undefined> | Answer | false | undefined,
  signal?: AbortSignal,
): Promise<Answer> {
  const deadline = performance.now() + limit_ms;
  for (;;) {
    const answer = await check();
    if (answer !== false && answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`Not within ${limit_ms / 1000} s: ${what}.`);
    await delay(interval_ms, undefined, signal ? { signal } : {});
  }
}
