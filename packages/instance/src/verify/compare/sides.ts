import type { Retrying } from '../../async/retry.js';
import { clusterTimeOf, highestTime } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';

/** The sides of a comparison. */
export type Side = 'source' | 'destination';
export const sides = ['source', 'destination'] as const;

/** A value for each side of a comparison. */
export type Sides<Value> = Readonly<Record<Side, Value>>;

/** Cluster times of both sides; a read after them sees everything written before. */
export type KnownTimes = Sides<bigint>;

/** Before everything. */
export const noTimes: KnownTimes = { source: 0n, destination: 0n };

/** The latest of some times, for each side. */
export function latest(times: readonly KnownTimes[]): KnownTimes {
  return {
    source: highestTime(times.map(({ source }) => source)),
    destination: highestTime(times.map(({ destination }) => destination)),
  };
}

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

/** The fields that name the collection of a mismatch; `destination` only where it has another name there. */
export function namedOnBothSides(source: string, destination: string): { namespace: string; destination?: string } {
  return source === destination ? { namespace: source } : { namespace: source, destination };
}
