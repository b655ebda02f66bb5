import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationContext } from '../migration/migration-context.js';
import { bringBlock, wantedBlocks } from '../migration/write-blocks.js';

/** A source that could not be reached within the retry policy, or has refused, is tried again this much later. */
const again_ms = 60_000;

/**
 * After a failure that came before the destination was opened: gives the source back to its users, and tries until it has
 * succeeded, since nobody else does. Does nothing where the migration has not failed, or was cleaned up.
 */
export async function releaseSource(context: Pick<MigrationContext, 'runtime' | 'source' | 'destination' | 'records' | 'watch'>, signal: AbortSignal): Promise<void> {
  const { clock, logger } = context.runtime;
  while (!signal.aborted) {
    try {
      await release(context, signal);
      return;
    } catch (error) {
      logger.error({ event: 'sourceNotReleased', err: error }, 'the source could not be given back to its users');
      if (error instanceof ConvoyError && error.error === 'destinationChanged') return;
    }
    await clock.sleep(again_ms, signal).catch(() => undefined);
  }
}

async function release(context: Pick<MigrationContext, 'runtime' | 'source' | 'destination' | 'records' | 'watch'>, signal: AbortSignal): Promise<void> {
  const { watch, records } = context;
  const { record } = await watch.refresh(signal);
  if (record.failure === null || wantedBlocks(record).source === null) return;
  await bringBlock(context, 'source', signal);
  await records.noteSourceReleased(signal);
  await watch.refresh(signal);
}
