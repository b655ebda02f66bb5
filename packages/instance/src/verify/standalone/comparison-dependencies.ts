import type { Clock } from '../../cluster/clock.js';
import { clusterTimeOf } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { ProofRule } from '../compare/check-again.js';
import type { ComparedCollection } from './compared-collection.js';
import type { ComparisonState } from './comparison-state.js';
import type { FindDependencies } from '../compare/find-documents.js';
import type { Retrying } from '../../cluster/retry.js';

/** What a comparison is doing. */
export type ComparisonPhase = 'planning' | 'comparing' | 'looking again' | 'comparing definitions';

/** How a comparison is carried out. */
export interface ComparisonOptions {
  rule: ProofRule;
  /** Later looks at most; what still differs then, and was changing all the time, stays undecided. */
  generationsMax: number;
  /** Partitions that are compared at once. */
  readers: number;
  /** After this long what was compared of a partition is recorded. */
  record_ms: number;
  /** False: the destination is meant to have other shard keys. */
  shardKeys: boolean;
}

/** What the parts of a comparison work with. */
export interface ComparisonDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  state: ComparisonState;
  options: ComparisonOptions;
  clock: Clock;
  retrying: Retrying;
  /** Told when a phase begins. */
  entered: (phase: ComparisonPhase) => void;
  signal: AbortSignal;
}

/** Cluster times of both sides; what was written before is read by whatever reads after them. */
export interface KnownTimes {
  source: bigint;
  destination: bigint;
}

/** Times above everything that was acknowledged before. Nothing is written for it: a list of databases takes every shard's answer. */
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
  { database, name }: ComparedCollection,
  times: KnownTimes,
): Record<'source' | 'destination', FindDependencies> {
  const side = (which: 'source' | 'destination'): FindDependencies => ({
    client: deps[which].router,
    database,
    collection: name,
    after: times[which],
    signal: deps.signal,
  });
  return { source: side('source'), destination: side('destination') };
}
