import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { MigrationRecord, Reversal } from '../../store/migration-record.js';
import { type Connect, openSource, requireClusterName } from './clusters.js';
import type { Runtime } from './runtime.js';

/** Connects to the destination as a reverse would, by the recorded access or the one that its shards allow now. */
export function openPlannedSource(
  runtime: Runtime,
  destination: ClusterClient,
  recorded: MigrationRecord | null,
  connect: Connect,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const accessBack = recorded?.reversal?.accessBack ?? null;
  return openSource(runtime, requireClusterName(destination.name), accessBack, signal, connect);
}

/** What a reversible migration records of its destination: its access and its shards. */
export async function planReversal(
  runtime: Runtime,
  clusters: { source: ClusterClient; destination: ClusterClient },
  recorded: MigrationRecord | null,
  connect: Connect,
  signal: AbortSignal,
): Promise<Reversal> {
  const { source, destination } = clusters;
  const next = await openPlannedSource(runtime, destination, recorded, connect, signal);
  await next.close();
  const shards = { sourceShards: [...source.shardIds], destinationShards: [...next.shardIds] };
  return { turns: 0, ...shards, accessBack: next.access, openedAt: null, openedCatalogEpoch: null, isOver: false };
}

/** The refusal of a reverse whose state is gone. */
export function cleanedUp(): ConvoyError {
  return new ConvoyError('notReversible', 'The migration was cleaned up, so it can no longer be reversed.');
}

/** @throws ConvoyError `notReversible` */
export function requireReversible(record: MigrationRecord): Reversal {
  const { reversal } = record;
  if (!reversal) throw new ConvoyError('notReversible');
  if (reversal.isOver) throw cleanedUp();
  return reversal;
}

/**
 * Connects to the destination as the future source.
 * @throws ConvoyError `wrongCluster`, `reversibleNeedsEqualShardCounts` when its shards have changed since
 */
export async function openNextSource(
  runtime: Runtime,
  record: MigrationRecord,
  connect: Connect,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const { accessBack, destinationShards } = requireReversible(record);
  const { name, clusterId } = record.destination;
  const next = await openSource(runtime, requireClusterName(name), accessBack, signal, connect);
  try {
    if (next.clusterId !== clusterId) throw new ConvoyError('wrongCluster');
    requireShards(name, destinationShards, next.shardIds);
    return next;
  } catch (error) {
    await next.close();
    throw error;
  }
}

/** @throws ConvoyError `reversibleNeedsEqualShardCounts` when a cluster has other shards than recorded */
export function requireShards(name: string, recorded: readonly string[], present: readonly string[]): void {
  if ([...recorded].sort().join() === [...present].sort().join()) return;
  throw new ConvoyError(
    'reversibleNeedsEqualShardCounts',
    `Shards of ${name} were added or removed since the start, which a reverse cannot bridge.`,
  );
}
