import { setTimeout as wait } from 'node:timers/promises';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** A failure before the next attempt: for warnings and metrics. */
export interface RetryNotice {
  /** What was tried, for example `copy write to cluster1`. */
  what: string;
  /** Attempts so far. */
  attempt: number;
  /** Time since the first failure. */
  elapsed_ms: number;
  /** The failure, without addresses or values. */
  failure: string;
}

/** What the failures of an operation mean. */
export interface FailureMeaning {
  /** Whether the operation may succeed when it is repeated. */
  isRetryable(error: unknown): boolean;
  /** The failure in words, without addresses or values. */
  textOf(error: unknown): string;
  /** What a sentence about an operation that kept failing ends with: the latest failure, and what to do. */
  endingOf(error: unknown): string;
}

interface RetryPolicy {
  failures: FailureMeaning;
  /** How long one operation may keep failing. */
  limit_ms: number;
  backoffMin_ms: number;
  backoffMax_ms: number;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  random: () => number;
  /** Waits; rejects with the signal's reason when it is aborted. */
  sleep: (delay_ms: number, signal: AbortSignal) => Promise<void>;
  onRetry: (notice: RetryNotice) => void;
}

/** Repeats an operation while its failure is retryable, within the policy of its creator. */
export type Retrying = <T>(what: string, operation: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Failover takes about 10 s, maintenance of a node minutes: half an hour is the contract's default. */
const retryLimit_minutes = 30;
const minute_ms = 60_000;
/**
 * Dead peers are found within 14 minutes: an attempt that ran longer made progress, so its failure restarts the clock.
 */
const atWork_ms = 15 * minute_ms;

/** The one policy of an instance; tests and the configuration replace parts of it. */
export function retryPolicy(changes: Partial<RetryPolicy> & Pick<RetryPolicy, 'failures'>): RetryPolicy {
  return {
    limit_ms: retryLimit_minutes * minute_ms,
    backoffMin_ms: 50,
    backoffMax_ms: 10_000,
    now: () => performance.now(),
    random: Math.random,
    sleep: (delay_ms, signal) => wait(delay_ms, undefined, { signal }),
    onRetry: () => undefined,
    ...changes,
  };
}

/** A delay between half and all of the backoff, which doubles per attempt. */
function backoff_ms(policy: RetryPolicy, attempt: number): number {
  const whole = Math.min(policy.backoffMax_ms, policy.backoffMin_ms * 2 ** Math.min(attempt - 1, 20));
  return whole * (0.5 + policy.random() / 2);
}

/**
 * Runs an operation until it succeeds: retries after retryable failures, passes all others on. The time that the
 * operation worked before it failed does not count against the policy's limit.
 * @param run gets the number of the attempt, from 1; it must be safe to repeat
 * @throws ConvoyError `retriesExhausted` after the policy's limit; the signal's reason when aborted
 */
export async function retrying<T>(
  what: string,
  policy: RetryPolicy,
  signal: AbortSignal,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  let failures = 0;
  let failingSince_ms = 0;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const started_ms = policy.now();
    try {
      return await run(attempt);
    } catch (error) {
      signal.throwIfAborted();
      if (!policy.failures.isRetryable(error)) throw error;
      const now_ms = policy.now();
      if (failures === 0 || now_ms - started_ms >= atWork_ms) [failures, failingSince_ms] = [0, now_ms];
      failures += 1;
      const elapsed_ms = now_ms - failingSince_ms;
      if (elapsed_ms >= policy.limit_ms) throw exhausted(what, policy, failures, elapsed_ms, error);
      policy.onRetry({ what, attempt, elapsed_ms, failure: policy.failures.textOf(error) });
      await policy
        .sleep(Math.min(backoff_ms(policy, failures), policy.limit_ms - elapsed_ms), signal)
        .catch((reason: unknown) => {
          signal.throwIfAborted();
          throw reason;
        });
    }
  }
}

/** A short retry policy, for commands whose user waits for the answer. */
export function retryingFor(
  limit_ms: number,
  failures: FailureMeaning,
  onRetry: RetryPolicy['onRetry'] = () => undefined,
): Retrying {
  const policy = retryPolicy({ limit_ms, failures, onRetry });
  return (what, operation, signal) => retrying(what, policy, signal, () => operation());
}

function exhausted(
  what: string,
  { failures }: RetryPolicy,
  attempts: number,
  elapsed_ms: number,
  cause: unknown,
): ConvoyError {
  const minutes = Math.round(elapsed_ms / minute_ms);
  const description = `${what} failed ${attempts} times in ${minutes} minutes${failures.endingOf(cause)}`;
  return new ConvoyError('retriesExhausted', description, { cause });
}
