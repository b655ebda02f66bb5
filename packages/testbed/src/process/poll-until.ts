import { setTimeout as delay } from 'node:timers/promises';

/** Short enough to go unnoticed, long enough to cause no load. */
const interval_ms = 100;

/**
 * Repeats a check until it returns neither `false` nor `undefined`, and returns that value.
 * @param what the condition, for the error: "Not within 30 s: `what`"
 * @param check a condition; its errors end the wait immediately
 * @throws Error at the time limit, or the signal's reason
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
