import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import { createRuntime, type Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { serverError } from '../../fake-node-client.js';
import { never } from '../../model/parts.js';

const minute_ms = 60_000;
let now_ms: number;
let runtime: Runtime;

beforeEach(() => {
  now_ms = 0;
  const clock: Clock = {
    now_ms: () => now_ms,
    monotonic_ms: () => now_ms,
    random: () => 0.5,
    sleep: (duration_ms) => Promise.resolve(void (now_ms += duration_ms)),
  };
  const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://source', cluster1: 'mongodb://destination' } });
  runtime = createRuntime(config, clock, createLogger({ verbosity: 'FATAL' }), new Metrics({ processMetrics: false }));
});

describe('an operation that fails', () => {
  test('a stepping-down primary is retried for half an hour, with a warning', async () => {
    let warned = 0;
    const steppedDown = (): Promise<never> => {
      if (runtime.retries.has('write')) warned += 1;
      return Promise.reject(serverError(189, 'PrimarySteppedDown'));
    };
    const error: unknown = await runtime.retrying('write', steppedDown, never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConvoyError);
    expect(error).toMatchObject({ error: 'retriesExhausted' });
    expect(now_ms).toBeGreaterThanOrEqual(30 * minute_ms);
    expect(warned).toBeGreaterThan(100);
  });

  test('has no warning any more once it has succeeded', async () => {
    let failures = 2;
    const operation = () =>
      failures-- > 0 ? Promise.reject(serverError(10_107, 'NotWritablePrimary')) : Promise.resolve('done');
    expect(await runtime.retrying('write', operation, never)).toBe('done');
    expect(runtime.retries.size).toBe(0);
  });

  test('has no warning any more once nobody waits for it', async () => {
    const ending = new AbortController();
    const operation = () => {
      if (runtime.retries.has('connect')) ending.abort(new Error('ends'));
      return Promise.reject(serverError(189, 'PrimarySteppedDown'));
    };
    await expect(runtime.retrying('connect', operation, ending.signal)).rejects.toThrow('ends');
    expect(runtime.retries.size).toBe(0);
  });

  test('a lost cursor is reopened by its owner', async () => {
    let opened = 0;
    const read = () =>
      (opened += 1) === 1 ? Promise.reject(serverError(43, 'CursorNotFound')) : Promise.resolve(opened);
    expect(await runtime.retrying('read', read, never)).toBe(2);
  });

  test('a permanent failure is passed on at once', async () => {
    await expect(
      runtime.retrying('write', () => Promise.reject(serverError(13, 'Unauthorized')), never),
    ).rejects.toMatchObject({ code: 13 });
    expect(now_ms).toBe(0);
  });
});
