import { classify, kindOfCode } from '../cluster/failure.js';
import { MetadataWriteError } from './metadata.js';
import { RetryableStatement } from './ticketed-write.js';

/** Whether an operation may be repeated after this failure. The reader of a lost cursor opens it again. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof RetryableStatement) return true;
  if (error instanceof MetadataWriteError) return kindOfCode(error.code) === 'retryable';
  const kind = classify(error);
  return kind === 'retryable' || kind === 'cursorLost';
}
