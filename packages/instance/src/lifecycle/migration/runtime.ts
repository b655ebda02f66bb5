import type { Clock } from '../../async/clock.js';
import { retrying, type Retrying, type RetryNotice, retryPolicy } from '../../async/retry.js';
import { Waits } from '../../cluster/calls-in-flight.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import type { Logger } from '../../logging/logger.js';
import type { Metrics } from '../../metrics/metrics.js';
import { engineFailures } from '../../store/fenced-writer.js';

/** What a process has: its settings, clock, logger, metrics and retry policy. */
export interface Runtime {
  config: InstanceConfig;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  retrying: Retrying;
  /** Operations in retry now, for warnings. */
  retries: Map<string, RetryNotice>;
  /** What is waited for now, for warnings. */
  waits: Waits;
}

const minute_ms = 60_000;

/** Creates a process's runtime. */
export function createRuntime(config: InstanceConfig, clock: Clock, logger: Logger, metrics: Metrics): Runtime {
  const retries = new Map<string, RetryNotice>();
  const policy = retryPolicy({
    failures: engineFailures,
    limit_ms: config.retry_minutes * minute_ms,
    now: () => clock.monotonic_ms(),
    random: () => clock.random(),
    sleep: (delay_ms, signal) => clock.sleep(delay_ms, signal),
    onRetry: (notice) => {
      retries.set(notice.what, notice);
      metrics.retries.inc({ what: notice.what });
      logger.warn({ event: 'retry', ...notice }, 'an operation failed and is retried');
    },
  });
  const run: Retrying = async (label, operation, signal) => {
    try {
      return await retrying(label, policy, signal, () => operation());
    } finally {
      if (retries.size > 0) retries.delete(label);
    }
  };
  const waits = new Waits(({ from, what }) =>
    logger.warn({ event: 'streamReopened', from, what }, 'a change stream stands still and is opened anew'),
  );
  return { config, clock, logger, metrics, retrying: run, retries, waits };
}

/** Server sessions of a sync task: one for each write that may be in flight, and one for re-reads. */
export function writeSessionsMax({ applyWorkers, writers }: InstanceConfig): number {
  return applyWorkers + writers + 1;
}
