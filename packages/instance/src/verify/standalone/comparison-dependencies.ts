import type { Clock } from '../../cluster/clock.js';
import { clusterTimeOf } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { ProofRule } from '../compare/check-again.js';
import { type ComparedCollection, namespaceOn } from './compared-collection.js';
import type { ComparisonState } from './comparison-state.js';
import type { FindDependencies } from '../compare/find-documents.js';
import type { Retrying } from '../../cluster/retry.js';

/** The current phase of a comparison. */
export type ComparisonPhase = 'planning' | 'comparing' | 'checking again' | 'comparing definitions';

/** Options of a comparison. */
export interface ComparisonOptions {
  rule: ProofRule;
  /** Maximum number of later checks; a document that still differs then, and kept changing, stays undecided. */
  generationsMax: number;
  /** Partitions compared at once. */
  readers: number;
  /** Interval at which the progress of a partition is recorded. */
  record_ms: number;
  /** False: the destination intentionally has other shard keys. */
  shardKeys: boolean;
}

/** Dependencies of the parts of a comparison. */
export interface ComparisonDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  state: ComparisonState;
  options: ComparisonOptions;
  clock: Clock;
  retrying: Retrying;
  /** Called when a phase starts. */
  entered: (phase: ComparisonPhase) => void;
  signal: AbortSignal;
}

/** Cluster times of both sides; a read after them sees everything written before. */
export interface KnownTimes {
  source: bigint;
  destination: bigint;
}

/** Times after everything acknowledged before. It writes nothing: a list of databases returns every shard's time. */
export async function knownTimes({
  source,
  destination,
  retrying,
  signal,
}: ComparisonDependencies): Promise<KnownTimes> {
  const timeOfSide = (side: ClusterClient) =>
    retrying(
      `read the time of ${side.name}`,
      async () => clusterTimeOf(await side.router.command('admin', { listDatabases: 1, nameOnly: true }, { signal })),
      signal,
    );
  const [here, there] = await Promise.all([timeOfSide(source), timeOfSide(destination)]);
  return { source: here, destination: there };
}

/** Where both sides of a collection are looked up. */
export function lookupSides(
  deps: ComparisonDependencies,
  collection: ComparedCollection,
  times: KnownTimes,
): Record<'source' | 'destination', FindDependencies> {
  const side = (which: 'source' | 'destination'): FindDependencies => ({
    client: deps[which].router,
    database: namespaceOn(which, collection).database,
    collection: namespaceOn(which, collection).name,
    after: times[which],
    signal: deps.signal,
  });
  return { source: side('source'), destination: side('destination') };
}
