import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { namedFailure } from '../../cluster/named-failure.js';
import type { MigrationRecords } from '../../store/migration-record.js';

/** Where a process records its failure. */
export interface FailureRecord {
  records: MigrationRecords;
  /** Reads the durable state: whether another process has taken the tasks. Rejects as `MigrationWatch.refresh`. */
  isReplaced: () => Promise<boolean>;
}

/**
 * Records a process's failure for the whole migration. A replaced process records nothing: its successor need not meet
 * the same failure. Examples after a freeze are a stream that can no longer be resumed, and exhausted retries.
 * @returns what ends this process: the recorded failure, or `staleEpoch`, which is not recorded
 */
export async function recordFailure(
  { records, isReplaced }: FailureRecord,
  thrown: unknown,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const failure = namedFailure(thrown);
  if (isStale(failure)) return failure;
  // A failure cannot be recorded either where the state cannot be read.
  if (await isReplaced().catch(isStale)) return new ConvoyError('staleEpoch', undefined, { cause: thrown });
  const { error, errorDescription } = failure;
  await records.fail({ error, errorDescription }, signal).catch(() => undefined);
  return failure;
}

/** Whether a later owner or leader, or a later migration, has taken over. */
export function isStale(error: unknown): boolean {
  return isConvoyError(error, 'staleEpoch');
}
