import { type CarriedKind, carriedKindsOf, zoneShardsOf } from '@convoy/api/contract/carry';
import type { InventoryKind } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { nameSome } from '../catalog/name-some.js';
import { compileNamespaceFilter, type NamespaceFilter } from '../catalog/namespace-filter.js';
import { compileNamespaceRemap, type NamespaceRemap } from '../catalog/namespace-remap.js';
import { namespaceFrom, namespaceOf } from '../catalog/namespace.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { isAtLeast } from '../cluster/topology.js';
import type { ClusterInventory, Item, Login, Payload, Scope } from './item.js';
import { balancingItem, rangesItem, zoneItem } from './read/sharding-settings.js';

/** The kind of `carry` that takes items of a kind along; absent for what is never carried. */
export const carriedBy: Partial<Record<InventoryKind, CarriedKind>> = {
  zones: 'zones',
  balancing: 'balancing',
  users: 'usersAndRoles',
  roles: 'usersAndRoles',
  defaultConcerns: 'defaultConcerns',
  clusterParameters: 'clusterParameters',
  querySettings: 'querySettings',
};

/** What the options of a migration choose of an inventory, and the names that it has on the destination. */
export class CarryChoice {
  readonly kinds: ReadonlySet<CarriedKind>;
  readonly #isFiltered: boolean;
  readonly #filter: NamespaceFilter;
  readonly #remap: NamespaceRemap;
  /** By the shards of the present source; null where names stay. */
  readonly #shards: ReadonlyMap<string, string> | null;

  /** @param isReversed whether the clusters have the opposite roles of the start */
  constructor(request: StartRequest, isReversed: boolean) {
    this.kinds = carriedKindsOf(request.carry);
    this.#isFiltered = request.includeNamespaces.length + request.excludeNamespaces.length > 0;
    this.#filter = compileNamespaceFilter(request);
    this.#remap = compileNamespaceRemap(request.namespaceRemap);
    const shards = zoneShardsOf(request.carry);
    this.#shards = shards !== null && isReversed ? new Map([...shards].map(([from, to]) => [to, from])) : shards;
  }

  /** Whether the commit takes items of a kind along. */
  carries(kind: InventoryKind): boolean {
    const by = carriedBy[kind];
    return by !== undefined && this.kinds.has(by);
  }

  /** Whether an item of the source belongs to what the filter includes. */
  includes(scope: Scope): boolean {
    if (scope.of === 'namespaces') return scope.namespaces.some((namespace) => this.#hasNamespace(namespace));
    if (!this.#isFiltered) return true;
    return (
      scope.of === 'databases' &&
      scope.databases.length > 0 &&
      scope.databases.every((database) => this.#filter.mayInclude(database))
    );
  }

  #hasNamespace(namespace: string): boolean {
    const { database, name } = namespaceFrom(namespace);
    return this.#filter.includes(database, name);
  }

  /** The item as the destination would have it, under its names there. */
  onDestination(item: Item): Item {
    const { payload } = item;
    const there = (namespace: string): string => namespaceOf(this.#remap.toDestination(namespaceFrom(namespace)));
    if (payload === null && item.scope.of === 'namespaces' && item.scope.namespaces[0] === item.name)
      return { ...item, name: there(item.name) };
    if (payload?.type === 'ranges') return rangesItem(there(payload.namespace), payload.ranges);
    if (payload?.type === 'balancing') {
      const { namespace, noBalance, chunkSize_MB, autoMerger } = payload;
      return balancingItem(there(namespace), noBalance, chunkSize_MB, autoMerger);
    }
    if (payload?.type === 'zone') return this.#mappedZone(item, payload);
    return item;
  }

  #mappedZone(item: Item, { zone, shards }: Extract<Payload, { type: 'zone' }>): Item {
    const mapped = [...new Set(shards.map((shard) => this.#shards?.get(shard) ?? shard))].sort();
    return zoneItem(zone, mapped, item.scope.of === 'namespaces' ? item.scope.namespaces : []);
  }

  /**
   * Shards of the zones to carry that the destination does not have under their mapped names, and shards of a map that
   * the source does not have.
   */
  unknownShards(source: ClusterInventory, destination: ClusterInventory): string[] {
    if (!this.carries('zones')) return [];
    const there = new Set(destination.shardIds);
    const zones = source.items.filter(({ payload, scope }) => payload?.type === 'zone' && this.includes(scope));
    const unknown = zones.flatMap((item) => {
      const { payload } = this.onDestination(item);
      return payload?.type === 'zone' ? payload.shards.filter((shard) => !there.has(shard)) : [];
    });
    const here = new Set(source.shardIds);
    const unused = [...(this.#shards?.keys() ?? [])].filter((shard) => !here.has(shard));
    return [...new Set([...unknown, ...unused])].sort();
  }
}

/**
 * Why the destination could not have an item of the source, although it may have others of the kind. Null if nothing
 * is known against it.
 */
export function obstacleTo({ name, payload }: Item, destination: ClusterInventory): string | null {
  const { cluster, version, parameters } = destination;
  if (payload?.type === 'clusterParameter' && !parameters.has(payload.parameter))
    return `the release of ${cluster} does not have ${name}`;
  if (payload?.type === 'querySettings' && !isAtLeast(version, 8, 0))
    return `the release of ${cluster} has no query settings`;
  if (payload?.type !== 'defaultConcern') return null;
  const { w } = (payload.set.defaultWriteConcern ?? {}) as { w?: unknown };
  // A mode that a replica set does not have would make every write of applications fail.
  if (typeof w !== 'string' || w === 'majority') return null;
  return `${w} is a mode of the replica sets: set it with setDefaultRWConcern once those of ${cluster} have it`;
}

/** Whether an item is the user of one of Convoy's own connections. */
export function isOwnLogin({ kind, name }: Item, logins: readonly Login[]): boolean {
  return kind === 'users' && logins.some(({ user, db }) => name === `${user}@${db}`);
}

/**
 * Why the commit cannot take along what `carry` names: sentences that name kinds, shards and privileges. Empty if it
 * can. What only the release lacks is an obstacle to single items: in a reverse nobody can change `carry` any more.
 */
export function carryProblems(
  clusters: { source: Pick<ClusterClient, 'kind'>; destination: Pick<ClusterClient, 'kind'> },
  { source, destination }: { source: ClusterInventory; destination: ClusterInventory },
  choice: CarryChoice,
): string[] {
  return [
    ...topologyProblems(clusters, choice),
    ...shardProblems(source, destination, choice),
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

function readProblems({ cluster, unreadable }: ClusterInventory, { kinds }: CarryChoice): string[] {
  const reasons = new Map<CarriedKind, string>();
  for (const [kind, reason] of unreadable) {
    const by = carriedBy[kind];
    if (by !== undefined && kinds.has(by)) reasons.set(by, reason);
  }
  return [...reasons].map(([kind, reason]) => `${kind} of ${cluster}: ${reason}`);
}
