import { MongoNetworkError } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { clusterFailures } from '../../../src/cluster/connection-failure.js';
import { retrying, type RetryNotice, retryPolicy } from '../../../src/async/retry.js';

const signal = new AbortController().signal;
const minute_ms = 60_000;

/** A policy on a clock that only sleeping advances. */
function testPolicy(limit_ms: number, random = 0.5) {
  const sleeps: number[] = [];
  const notices: RetryNotice[] = [];
  let time_ms = 0;
  const policy = retryPolicy({
    failures: clusterFailures,
    limit_ms,
    backoffMin_ms: 100,
    backoffMax_ms: 1_000,
    now: () => time_ms,
    random: () => random,
    sleep: (delay_ms) => {
      sleeps.push(delay_ms);
      time_ms += delay_ms;
      return Promise.resolve();
    },
    onRetry: (notice) => notices.push(notice),
  });
  const work = (duration_ms: number): Promise<never> => {
    time_ms += duration_ms;
    return Promise.reject(new MongoNetworkError('gone'));
  };
  return { policy, sleeps, notices, work };
}

describe('retrying', () => {
  test('repeats retryable failures with growing, jittered delays, and reports them', async () => {
    const { policy, sleeps, notices } = testPolicy(60_000);
    const result = await retrying('a write', policy, signal, (attempt) => {
      return attempt < 7 ? Promise.reject(new MongoNetworkError('gone')) : Promise.resolve(attempt);
    });
    expect(result).toBe(7);
    expect(sleeps).toEqual([75, 150, 300, 600, 750, 750]);
    expect(notices[1]).toEqual({ what: 'a write', attempt: 2, elapsed_ms: 75, failure: 'MongoNetworkError' });
  });

  test('gives up after the limit with a name, and waits no longer than that', async () => {
    const { policy, sleeps } = testPolicy(500);
    const error = await retrying('a write', policy, signal, () => Promise.reject(new MongoNetworkError('gone'))).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ConvoyError);
    expect((error as ConvoyError).error).toBe('retriesExhausted');
    expect(sleeps.reduce((sum, delay) => sum + delay, 0)).toBe(500);
  });

  test('counts from the first failure: earlier progress does not count against the limit', async () => {
    const { policy, notices, work } = testPolicy(60_000);
    expect(
      await retrying('a build', policy, signal, (attempt) => (attempt === 1 ? work(61_000) : Promise.resolve(attempt))),
    ).toBe(2);
    expect(notices.map(({ elapsed_ms }) => elapsed_ms)).toEqual([0]);
  });

  test('restarts the count after an attempt that outlasted the detection of dead peers', async () => {
    const { policy, sleeps, notices, work } = testPolicy(60_000);
    const tries = [0, 0, 40 * minute_ms, 0];
    expect(
      await retrying('a copy', policy, signal, (attempt) =>
        attempt <= tries.length ? work(tries[attempt - 1] ?? 0) : Promise.resolve(attempt),
      ),
    ).toBe(5);
    expect(notices.map(({ elapsed_ms }) => elapsed_ms)).toEqual([0, 75, 0, 75]);
    expect(sleeps).toEqual([75, 150, 75, 150]);
  });

  test('passes other failures on at once', async () => {
    const { policy, sleeps } = testPolicy(500);
    await expect(retrying('a write', policy, signal, () => Promise.reject(new TypeError('bug')))).rejects.toThrow(
      TypeError,
    );
    expect(sleeps).toEqual([]);
  });

  test("ends with the signal's reason, even while it waits", async () => {
    const controller = new AbortController();
    const policy = retryPolicy({
      failures: clusterFailures,
      backoffMin_ms: 60_000,
      backoffMax_ms: 60_000,
      onRetry: () => controller.abort(new Error('stopped')),
    });
    await expect(
      retrying('a write', policy, controller.signal, () => Promise.reject(new MongoNetworkError('gone'))),
    ).rejects.toThrow('stopped');
    await expect(retrying('a write', policy, controller.signal, () => Promise.resolve(1))).rejects.toThrow('stopped');
  });
});
