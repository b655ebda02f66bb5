import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { namedFailure } from '../../cluster/named-failure.js';
import type { MigrationRecords } from '../../store/migration-record.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { applyWriteBlock, wantedBlocks } from '../migration/write-blocks.js';

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
function isStale(error: unknown): boolean {
  return isConvoyError(error, 'staleEpoch');
}

/** Delay before the next attempt, after a source was unreachable within the retry policy, or has refused. */
const again_ms = 60_000;

/**
 * After a failure before the opening: allows user writes on the source again. It retries until it succeeds, since
 * nobody else does it. Does nothing where the migration has not failed, or was cleaned up.
 */
export async function releaseSource(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { clock, logger } = deps.runtime;
  while (!signal.aborted) {
    try {
      await release(deps, signal);
      return;
    } catch (error) {
      logger.error(
        { event: 'sourceNotReleased', err: error },
        'the block of user writes on the source could not be lifted',
      );
      if (isConvoyError(error, 'destinationChanged')) return;
    }
    await clock.sleep(again_ms, signal).catch(() => undefined);
  }
}

async function release(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { watch, records } = deps;
  const { record } = await watch.refresh(signal);
  if (record.failure === null || wantedBlocks(record).source === null) return;
  await applyWriteBlock(deps, 'source', signal);
  await records.noteSourceReleased(signal);
  await watch.refresh(signal);
}
