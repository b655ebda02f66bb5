import { clusterTimeOf } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { Retrying } from '../../cluster/retry.js';

/** A value for each side of a comparison. */
export type Sides<Value> = Readonly<Record<'source' | 'destination', Value>>;

/** Cluster times of both sides; a read after them sees everything written before. */
export type KnownTimes = Sides<bigint>;

/** Times after everything acknowledged before. It writes nothing: a list of databases returns every shard's time. */
export async function knownTimes(
  { source, destination, retrying }: Sides<ClusterClient> & { retrying: Retrying },
  signal: AbortSignal,
): Promise<KnownTimes> {
  const timeOf = (side: ClusterClient) =>
    retrying(
      `read the time of ${side.name}`,
      async () => clusterTimeOf(await side.router.command('admin', { listDatabases: 1, nameOnly: true }, { signal })),
      signal,
    );
  const [here, there] = await Promise.all([timeOf(source), timeOf(destination)]);
  return { source: here, destination: there };
}
