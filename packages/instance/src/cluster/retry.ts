import { setTimeout as wait } from 'node:timers/promises';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { classify, failureName } from './failure.js';

/** A failure that is about to be tried again: for warnings and metrics. */
export interface RetryNotice {
  /** What was tried, for example `copy write to cluster1`. */
  what: string;
  /** Tries so far. */
  attempt: number;
  /** How long it has been failing. */
  elapsed_ms: number;
  /** The failure in words that hold no addresses or values. */
  failure: string;
}

export interface RetryPolicy {
  /** How long one operation may go on failing. */
  limit_ms: number;
  backoffMin_ms: number;
  backoffMax_ms: number;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  random: () => number;
  /** Waits; rejects with the signal's reason when it is aborted. */
  sleep: (delay_ms: number, signal: AbortSignal) => Promise<void>;
  onRetry: (notice: RetryNotice) => void;
}

/** Runs an operation again while its failure is one that may pass, within a policy that its maker has set. */
export type Retrying = <T>(what: string, operation: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Failover takes about 10 s, maintenance of a node minutes: half an hour is the contract's default patience. */
export const retryLimit_minutes = 30;
const minute_ms = 60_000;
/** Dead peers are found within 14 minutes: a try that ran for longer was at work, and its failure begins a new count. */
const atWork_ms = 15 * minute_ms;

/** The one policy of an instance; parts of it are replaced by tests and by the configuration. */
export function retryPolicy(changes: Partial<RetryPolicy> = {}): RetryPolicy {
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

/** A delay between half and the whole of the doubled-per-try backoff. */
function backoff_ms(policy: RetryPolicy, attempt: number): number {
  const whole = Math.min(policy.backoffMax_ms, policy.backoffMin_ms * 2 ** Math.min(attempt - 1, 20));
  return whole * (0.5 + policy.random() / 2);
}

/**
 * Runs an operation until it succeeds, tries it again after retryable failures, and passes all others on. What it has
 * worked before it began to fail takes nothing of the policy's patience.
 * @param run gets the number of the try, from 1; it must be safe to repeat
 * @param isRetryable by default what `classify` calls retryable
 * @throws ConvoyError `retriesExhausted` after the policy's limit; the signal's reason when aborted
 */
export async function retrying<T>(
  what: string,
  policy: RetryPolicy,
  signal: AbortSignal,
  run: (attempt: number) => Promise<T>,
  isRetryable: (error: unknown) => boolean = (error) => classify(error) === 'retryable',
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
      if (!isRetryable(error)) throw error;
      const now_ms = policy.now();
      if (failures === 0 || now_ms - started_ms >= atWork_ms) [failures, failingSince_ms] = [0, now_ms];
      failures += 1;
      const elapsed_ms = now_ms - failingSince_ms;
      if (elapsed_ms >= policy.limit_ms) throw exhausted(what, failures, elapsed_ms, error);
      policy.onRetry({ what, attempt, elapsed_ms, failure: failureName(error) });
      await policy
        .sleep(Math.min(backoff_ms(policy, failures), policy.limit_ms - elapsed_ms), signal)
        .catch((reason: unknown) => {
          signal.throwIfAborted();
          throw reason;
        });
    }
  }
}

/** Repeats what may be tried again for so long: for commands whose user waits for the answer. */
export function retryingFor(limit_ms: number, isRetryable: (error: unknown) => boolean): Retrying {
  const policy = retryPolicy({ limit_ms });
  return (what, operation, signal) => retrying(what, policy, signal, () => operation(), isRetryable);
}

function exhausted(what: string, attempts: number, elapsed_ms: number, cause: unknown): ConvoyError {
  const minutes = Math.round(elapsed_ms / minute_ms);
  const description = `${what} failed ${attempts} times in ${minutes} minutes, at last with ${failureName(cause)}; remove the cause and resume.`;
  return new ConvoyError('retriesExhausted', description, { cause });
}
