import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationRecords } from '../../store/migration-record.js';

/** Where a process's failure is recorded. */
export interface FailureRecord {
  records: Pick<MigrationRecords, 'fail'>;
  /** Reads the durable state: whether another process has taken the shares over. */
  isReplaced: () => Promise<boolean>;
}

/**
 * Records a process's failure for the whole migration. One that another process has replaced speaks for nobody: what it meets
 * after a freeze (a stream that it comes too late for, retries that have lasted too long) its successor need not meet.
 * @returns what ends this process: the failure as it is recorded, or `staleEpoch`, which is not
 */
export async function recordFailure(
  { records, isReplaced }: FailureRecord,
  thrown: unknown,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const failure = toConvoyError(thrown);
  if (failure.error === 'staleEpoch') return failure;
  // Where the state cannot be read a failure cannot be recorded either.
  if (await isReplaced().catch(() => false)) return new ConvoyError('staleEpoch', undefined, { cause: thrown });
  const { error, errorDescription } = failure;
  await records.fail({ error, errorDescription }, signal).catch(() => undefined);
  return failure;
}
