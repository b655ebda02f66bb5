import { afterEach, describe, expect, test, vi } from 'vitest';
import { CallsInFlight, ClientClosedError, NoAnswerError } from '../../../src/cluster/calls-in-flight.js';

/** A call that ends only when it is aborted. */
const endless = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );

afterEach(() => {
  vi.useRealTimers();
});

describe('calls in flight', () => {
  test('end if no answer has arrived well after their own limit', async () => {
    vi.useFakeTimers();
    const calls = new CallsInFlight();
    const outcome = calls
      .run({ signal: new AbortController().signal, maxTime_ms: 1_000 }, endless)
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(31_001);
    expect(await outcome).toBeInstanceOf(NoAnswerError);
  });

  test('have no limit once they have ended', async () => {
    vi.useFakeTimers();
    let own: AbortSignal | undefined;
    await new CallsInFlight().run({ signal: new AbortController().signal, maxTime_ms: 1_000 }, (signal) => {
      own = signal;
      return Promise.resolve();
    });
    await vi.advanceTimersByTimeAsync(31_001);
    expect(own?.aborted).toBe(false);
  });

  test("leave nothing on the caller's signal", async () => {
    const calls = new CallsInFlight();
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    await calls.run({ signal, maxTime_ms: 5 }, () => Promise.resolve(1));
    await calls.run({ signal }, () => Promise.reject(new Error('x'))).catch(() => 0);
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
      added.mock.calls.map(([, listener]) => listener),
    );
  });

  test('have all ended once closing is done', async () => {
    const calls = new CallsInFlight();
    let ended = 0;
    const outcomes = [1, 2].map(() =>
      calls
        .run({ signal: new AbortController().signal }, (signal) => endless(signal).finally(() => (ended += 1)))
        .catch((error: unknown) => error),
    );
    await calls.close();
    expect(ended).toBe(2);
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(ClientClosedError);
  });
});
