import type { CallOptions, Door } from './door.js';

/** Time for a shard to answer the probing read; a firewall that swallows packets must not hold up the choice. */
const probe_ms = 10_000;

/**
 * Tries what direct access needs: a stream of all changes and a read of an ordinary collection.
 * @throws the failure that stands in the way
 */
export async function probeShard(door: Door, options: CallOptions): Promise<void> {
  const limited = { ...options, maxTime_ms: probe_ms };
  const stream = await door.openCursor(
    'admin',
    { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: { batchSize: 0 } },
    limited,
  );
  await stream.close();
  const read = await door.openCursor('convoy_metadata', { find: 'probe', limit: 1 }, limited);
  await read.close();
}
