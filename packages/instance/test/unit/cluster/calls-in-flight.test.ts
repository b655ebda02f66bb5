import { afterEach, describe, expect, test, vi, it } from 'vitest';
import { NoAnswerError } from '../../../src/async/clock.js';
import { Waits, CallsInFlight, ClientClosedError, AnswerLimits } from '../../../src/cluster/calls-in-flight.js';

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

  test.each([
    ['without a limit of their own', {}, 20_000],
    ['with a limit for the server', { maxTime_ms: 5_000 }, 25_000],
    ['whose caller waits less', { answerMax_ms: 3_000 }, 3_000],
  ])('end when no answer comes, %s', async (_what, options, ends_ms) => {
    vi.useFakeTimers();
    const calls = new CallsInFlight('cluster0 router');
    const ended = vi.fn();
    const outcome = calls
      .run({ signal: new AbortController().signal, ...options }, endless, 'find of shop.orders')
      .catch((error: unknown) => (ended(), error));
    await vi.advanceTimersByTimeAsync(ends_ms - 1);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({
      name: 'NoAnswerError',
      message: `No answer from cluster0 router to find of shop.orders within ${ends_ms} ms`,
    });
  });

  test('that are repeated may take longer each time, and those that are looked after as long as they do', async () => {
    vi.useFakeTimers();
    const calls = new CallsInFlight();
    const { signal } = new AbortController();
    const ended: number[] = [];
    const began_ms = performance.now();
    const repeated = async (): Promise<void> => {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        await calls.run({ signal }, endless, 'find').catch(() => 0);
        ended.push(performance.now() - began_ms);
      }
    };
    const lookedAfter = vi.fn();
    void calls.run({ signal, answerMax_ms: Infinity }, endless, 'createIndexes').catch(lookedAfter);
    const all = repeated();
    await vi.advanceTimersByTimeAsync(140_000);
    await all;
    expect(ended).toEqual([20_000, 60_000, 140_000]);
    expect(lookedAfter).not.toHaveBeenCalled();
  });

  test('are shown once they have had no answer for 5 s', async () => {
    vi.useFakeTimers();
    const waits = new Waits();
    const calls = new CallsInFlight('cluster0 router', waits);
    const { signal } = new AbortController();
    const outcomes = [
      calls.run({ signal }, endless, 'find of shop.orders'),
      calls.run({ signal, maxTime_ms: 4_000 }, endless, 'getMore of a change stream'),
      calls.run({ signal, answerMax_ms: Infinity }, endless, 'createIndexes of shop.orders'),
    ].map((call) => call.catch(() => 0));
    await vi.advanceTimersByTimeAsync(4_999);
    expect(waits.present).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(waits.present).toEqual([{ from: 'cluster0 router', what: 'find of shop.orders' }]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(waits.present.map(({ what }) => what)).toEqual(['find of shop.orders', 'getMore of a change stream']);
    await calls.close();
    await Promise.all(outcomes);
    expect(waits.present).toEqual([]);
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

const find = 'find of shop.orders';

/** Limits with a clock that the test sets. */
function limitsAt(): { limits: AnswerLimits; clock: { now_ms: number } } {
  const clock = { now_ms: 0 };
  return { limits: new AnswerLimits(() => clock.now_ms), clock };
}

it('are 20 s, twice as long after each call in vain, and the same again after a while', () => {
  const { limits, clock } = limitsAt();
  expect(limits.limit_ms(find)).toBe(20_000);
  limits.exceeded(find, 20_000);
  // Another call that began at the same time.
  limits.exceeded(find, 20_000);
  expect(limits.limit_ms(find)).toBe(40_000);
  limits.exceeded(find, 40_000);
  expect(limits.limit_ms(find)).toBe(80_000);
  expect(limits.limit_ms('find of shop.others')).toBe(20_000);
  clock.now_ms = 10 * 60_000 + 80_000;
  expect(limits.limit_ms(find)).toBe(20_000);
});

it('allow a command that was slow twice as long, and nothing more for fast ones', () => {
  const { limits } = limitsAt();
  limits.answered(find, 19_000);
  expect(limits.limit_ms(find)).toBe(20_000);
  limits.answered(find, 25_000);
  limits.answered(find, 10);
  expect(limits.limit_ms(find)).toBe(50_000);
});

it('let a server that needs a minute for each answer be cut off twice, and never again', () => {
  const { limits, clock } = limitsAt();
  const [work_ms, calls] = [60_000, 30];
  let cutOff = 0;
  for (let done = 0; done < calls;) {
    const limit_ms = limits.limit_ms(find);
    clock.now_ms += Math.min(limit_ms, work_ms);
    if (limit_ms < work_ms) {
      limits.exceeded(find, limit_ms);
      cutOff += 1;
    } else {
      limits.answered(find, work_ms);
      done += 1;
    }
  }
  expect(cutOff).toBe(2);
});

it('are those of everybody who waits, each once and in order, until he leaves', () => {
  const waits = new Waits();
  const [call, stream] = [
    { from: 'cluster0 router', what: 'find of shop.orders' },
    { from: 'cluster0 router', what: 'a stream' },
  ];
  const leave = waits.add(() => [call, call]);
  waits.add(() => [call, stream]);
  expect(waits.present).toEqual([stream, call]);
  leave();
  waits.add(() => [{ from: 'cluster1 router', what: 'a' }]);
  expect(waits.present.map(({ from }) => from)).toEqual(['cluster0 router', 'cluster0 router', 'cluster1 router']);
});
