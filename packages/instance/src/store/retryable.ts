import type { FailureMeaning } from '../async/retry.js';
import { clusterFailures } from '../cluster/connection-failure.js';
import { classify, kindOfCode } from '../cluster/failure.js';
import { MetadataWriteError } from './metadata.js';
import { RetryableStatement } from './ticketed-write.js';

/** What failures of an operation of the engine mean. The reader of a lost cursor opens it again. */
export const engineFailures: FailureMeaning = { ...clusterFailures, isRetryable };

function isRetryable(error: unknown): boolean {
  if (error instanceof RetryableStatement) return true;
  if (error instanceof MetadataWriteError) return kindOfCode(error.code) === 'retryable';
  const kind = classify(error);
  return kind === 'retryable' || kind === 'cursorLost';
}
