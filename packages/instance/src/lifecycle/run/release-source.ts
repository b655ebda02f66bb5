import { isConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { applyWriteBlock, wantedBlocks } from '../migration/write-blocks.js';

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
