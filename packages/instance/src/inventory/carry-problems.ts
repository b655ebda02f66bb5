import type { CarriedKind } from '@convoy/api/contract/carry';
import { nameSome } from '../catalog/name-some.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { isAtLeast } from '../cluster/topology.js';
import { type CarryChoice, carriedBy } from './carry-choice.js';
import type { ClusterInventory } from './item.js';

/** The first release of a destination that has a kind. */
const firstReleases = { clusterParameters: 6, querySettings: 8 } as const;

/**
 * Why the commit cannot take along what `carry` names: sentences that name kinds, shards and privileges. Empty if it
 * can.
 */
export function carryProblems(
  clusters: { source: Pick<ClusterClient, 'kind'>; destination: Pick<ClusterClient, 'kind' | 'version' | 'name'> },
  { source, destination }: { source: ClusterInventory; destination: ClusterInventory },
  choice: CarryChoice,
): string[] {
  return [
    ...topologyProblems(clusters, choice),
    ...shardProblems(source, destination, choice),
    ...releaseProblems(clusters.destination, source, choice),
    ...readProblems(source, choice),
    ...readProblems(destination, choice),
  ];
}

function topologyProblems(
  { source, destination }: { source: Pick<ClusterClient, 'kind'>; destination: Pick<ClusterClient, 'kind'> },
  { kinds }: CarryChoice,
): string[] {
  const named = (['zones', 'balancing'] as const).filter((kind) => kinds.has(kind));
  if (named.length === 0 || (source.kind === 'sharded' && destination.kind === 'sharded')) return [];
  return [`${named.join(' and ')} in carry need two sharded clusters; leave them out.`];
}

function shardProblems(source: ClusterInventory, destination: ClusterInventory, choice: CarryChoice): string[] {
  const shards = choice.unknownShards(source, destination);
  if (shards.length === 0) return [];
  return [
    `Zones of ${source.cluster} are on shards that have no counterpart: ${nameSome(shards)}. Give carry a map of ` +
      `the shards, such as {"zones": {"SHARD OF ${source.cluster}": "SHARD OF ${destination.cluster}"}}.`,
  ];
}

function releaseProblems(
  { version, name }: Pick<ClusterClient, 'version' | 'name'>,
  source: ClusterInventory,
  choice: CarryChoice,
): string[] {
  return (['clusterParameters', 'querySettings'] as const).flatMap((kind) => {
    const first = firstReleases[kind];
    const isNeeded = choice.carries(kind) && source.items.some((item) => item.kind === kind);
    return isNeeded && !isAtLeast(version, first, 0)
      ? [`${name} is older than ${first}.0 and has no ${kind}; leave them out of carry.`]
      : [];
  });
}

function readProblems({ cluster, unreadable }: ClusterInventory, { kinds }: CarryChoice): string[] {
  const reasons = new Map<CarriedKind, string>();
  for (const [kind, reason] of unreadable) {
    const by = carriedBy[kind];
    if (by !== undefined && kinds.has(by)) reasons.set(by, reason);
  }
  return [...reasons].map(([kind, reason]) => `${kind} of ${cluster}: ${reason}`);
}
