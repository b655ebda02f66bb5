import { classify, kindOfCode } from '../cluster/failure.js';
import { MetadataWriteError } from './metadata.js';
import { RetryableStatement } from './ticketed-write.js';

/** Whether an operation may be tried again after this failure; a lost cursor is opened anew by whoever owns it. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof RetryableStatement) return true;
  if (error instanceof MetadataWriteError) return kindOfCode(error.code) === 'retryable';
  const kind = classify(error);
  return kind === 'retryable' || kind === 'cursorLost';
}
