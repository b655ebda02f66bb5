import { MongoClient } from 'mongodb';

/**
 * Lets a cluster move unsharded collections, and reshard, without waiting. Real servers take five minutes at least, so
 * that transactions end before, and wait for thirty seconds before they look how far they are. Simulated ones wait for
 * nothing.
 */
export async function moveQuickly({
  configConnectionString,
}: {
  configConnectionString?: string | undefined;
}): Promise<void> {
  if (configConnectionString === undefined) return;
  await using config = new MongoClient(configConnectionString);
  for (const wait of ['MinimumOperationDurationMillis', 'DelayBeforeRemainingOperationTimeQueryMillis'])
    await config.db('admin').command({ setParameter: 1, [`resharding${wait}`]: 0 });
}
