import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { bringBlock, wantedBlocks } from '../migration/write-blocks.js';

/** A source that could not be reached within the retry policy, or has refused, is tried again this much later. */
const again_ms = 60_000;

/**
 * After a failure that came before the destination was opened: gives the source back to its users, and tries until it has
 * succeeded, since nobody else does. Does nothing where the migration has not failed, or was cleaned up.
 */
export async function releaseSource(
  deps: Pick<MigrationDependencies, 'runtime' | 'source' | 'destination' | 'records' | 'watch'>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = deps.runtime;
  while (!signal.aborted) {
    try {
      await release(deps, signal);
      return;
    } catch (error) {
      logger.error({ event: 'sourceNotReleased', err: error }, 'the source could not be given back to its users');
      if (error instanceof ConvoyError && error.error === 'destinationChanged') return;
    }
    await clock.sleep(again_ms, signal).catch(() => undefined);
  }
}

async function release(
  deps: Pick<MigrationDependencies, 'runtime' | 'source' | 'destination' | 'records' | 'watch'>,
  signal: AbortSignal,
): Promise<void> {
  const { watch, records } = deps;
  const { record } = await watch.refresh(signal);
  if (record.failure === null || wantedBlocks(record).source === null) return;
  await bringBlock(deps, 'source', signal);
  await records.noteSourceReleased(signal);
  await watch.refresh(signal);
}
