import type { Document } from 'mongodb';
import { codeOf, serverErrorCode, unauthorizedCode } from '../cluster/failure.js';
import type { ClusterClient, Namespace, NodeClient } from '../cluster/node-client.js';
import { shownName } from '../cluster/time-series.js';
import type { IndexBuilding } from './build-indexes.js';
import { decodeIndexStats, decodeListedIndex, type ListedIndex } from './catalog-bytes.js';
import { canonicalText, type InconsistentIndex, type IndexForm, namespaceOf, type Sharding } from './namespace.js';
import type { CollectionPlan } from './destination-plan.js';
import { portableIndex } from './index-spec.js';
import { type ListedNamespace, readCursor } from './list-namespaces.js';

interface CollectionIndexes {
  /** As `listIndexes` shows them. */
  indexes: Document[];
  /** The indexes that a shard is building. Another one may have finished: they are in none of the other lists. */
  building: Document[];
  inconsistent: InconsistentIndex[];
}

/** The indexes of a collection on one node. */
interface NodeIndexes {
  ready: Document[];
  building: Document[];
}

/**
 * Indexes of one collection. A router asks only one shard, so for sharded collections Convoy asks every shard that owns
 * chunks: directly if the cluster client has direct access, otherwise through `$indexStats`.
 * @returns null if the collection is gone
 */
export async function readIndexes(
  cluster: ClusterClient,
  listed: ListedNamespace,
  sharding: Sharding | null,
  signal: AbortSignal,
): Promise<CollectionIndexes | null> {
  const owners = [...new Set(sharding?.chunks.map((chunk) => chunk.shard) ?? [])].sort();
  const clients = owners.map((owner) => directClient(cluster, owner));
  if (owners.length > 0 && clients.every((client) => client !== null)) {
    const perShard = await Promise.all(
      clients.map((client) => listIndexes(client, listed.database, listed.name, signal)),
    );
    return mergedIndexes(listed, owners, perShard);
  }
  const indexes = await listIndexes(cluster.router, listed.database, listed.name, signal);
  if (indexes === null || owners.length < 2) return mergedIndexes(listed, owners, [indexes]);
  const perShard = await indexStatsByShard(cluster.router, listed, signal);
  const seen = owners.filter((owner) => perShard.has(owner));
  const ofSeen = seen.map((owner) => perShard.get(owner) ?? null);
  const building = buildingOf([indexes, ...ofSeen]);
  return {
    indexes: finished(indexes.ready, building),
    building,
    inconsistent: inconsistentOf(listed, seen, ofSeen, building),
  };
}

/**
 * The indexes of a collection as one node sees it; null if there is no such collection. Without `includeBuildUUIDs`
 * a node lists an index that is being built like a finished one. Routers pass it on (from 4.4 on).
 */
export async function listIndexes(
  client: NodeClient,
  database: string,
  collection: string,
  signal: AbortSignal,
): Promise<NodeIndexes | null> {
  const command = { listIndexes: collection, includeBuildUUIDs: true, cursor: {} };
  try {
    return byState(await readCursor(client, database, command, decodeListedIndex, signal));
  } catch (failure) {
    if (codeOf(failure) === serverErrorCode.namespaceNotFound) return null;
    throw failure;
  }
}

/** The client of a shard, or null if the cluster client has no direct access. */
function directClient(cluster: ClusterClient, shard: string): NodeClient | null {
  try {
    return cluster.shard(shard);
  } catch {
    return null;
  }
}

function byState(listed: readonly ListedIndex[]): NodeIndexes {
  const some = (wanted: boolean): Document[] =>
    listed.filter(({ building }) => building === wanted).map(({ index }) => index);
  return { ready: some(false), building: some(true) };
}

function mergedIndexes(
  listed: ListedNamespace,
  owners: readonly string[],
  perShard: readonly (NodeIndexes | null)[],
): CollectionIndexes | null {
  const [first] = perShard;
  if (first === undefined || first === null) return null;
  const building = buildingOf(perShard);
  const inconsistent = perShard.length < 2 ? [] : inconsistentOf(listed, owners, perShard, building);
  return { indexes: finished(first.ready, building), building, inconsistent };
}

/** One form of each index that any of the nodes is building. */
function buildingOf(perShard: readonly (NodeIndexes | null)[]): Document[] {
  const all = perShard.flatMap((one) => one?.building ?? []);
  return [...new Map(all.map((index) => [index.name as string, index])).values()];
}

function finished(indexes: readonly Document[], building: readonly Document[]): Document[] {
  return indexes.filter(({ name }) => building.every((one) => one.name !== name));
}

/** The indexes about which shards disagree. Those that a shard is still building are none of them. */
function inconsistentOf(
  listed: ListedNamespace,
  owners: readonly string[],
  perShard: readonly (NodeIndexes | null)[],
  building: readonly Document[],
): InconsistentIndex[] {
  const lists = perShard.map((one) => finished(one?.ready ?? [], building));
  const forms = lists.map((list) => new Map(list.map((index) => [index.name as string, canonicalText(index)])));
  const names = [...new Set(forms.flatMap((form) => [...form.keys()]))].sort();
  return names.flatMap((name) => {
    const expected = forms.map((form) => form.get(name)).find((form) => form !== undefined);
    const shards = owners.filter((_, position) => forms[position]?.get(name) !== expected);
    if (shards.length === 0) return [];
    return [{ namespace: shownName(listed), index: name, shards, forms: formsOf(name, lists) }];
  });
}

function formsOf(name: string, perShard: readonly Document[][]): IndexForm[] {
  const forms = new Map<string, IndexForm>();
  for (const list of perShard) {
    const index = list.find((one) => one.name === name) ?? null;
    const text = index === null ? '' : canonicalText(index);
    forms.set(text, { index, shards: (forms.get(text)?.shards ?? 0) + 1 });
  }
  return [...forms.values()].sort((a, b) => b.shards - a.shards);
}

/**
 * The indexes of a collection on each of its shards, by the shard's name, as `$indexStats` reports them through a
 * router. Empty if the user has no privilege for it, or the collection is gone.
 */
export async function indexStatsByShard(
  router: NodeClient,
  { database, name }: Namespace,
  signal: AbortSignal,
): Promise<Map<string, NodeIndexes>> {
  const perShard = new Map<string, NodeIndexes>();
  const command = { aggregate: name, pipeline: [{ $indexStats: {} }], cursor: {} };
  let rows: Document[];
  try {
    rows = await readCursor(router, database, command, decodeIndexStats, signal);
  } catch (failure) {
    // Any other failure may pass: the caller tries again.
    const code = codeOf(failure);
    if (code !== unauthorizedCode && code !== serverErrorCode.namespaceNotFound) throw failure;
    return perShard;
  }
  for (const row of rows) {
    if (typeof row.shard !== 'string' || row.spec === undefined) continue;
    const indexes = perShard.get(row.shard) ?? { ready: [], building: [] };
    (row.building === true ? indexes.building : indexes.ready).push(row.spec as Document);
    perShard.set(row.shard, indexes);
  }
  return perShard;
}

/** The finished indexes that the shards of one collection have, in portable form (`portableIndex`). */
export class PresentIndexes {
  /**
   * @param perShard at least one list, of finished indexes
   * @param building those that any shard is still building
   */
  constructor(
    private readonly perShard: readonly (readonly Document[])[],
    readonly building: readonly Document[] = [],
  ) {}

  /** Number of different names. */
  get size(): number {
    return new Set([...this.perShard.flat(), ...this.building].map(({ name }) => name as string)).size;
  }

  /** Whether a shard is still building an index of this name that passes the test. */
  isBuilding(name: string, test: (index: Document) => boolean = () => true): boolean {
    return this.building.some((index) => index.name === name && test(index));
  }

  /** The indexes that every shard has, as the first one has them. */
  get onAllShards(): Document[] {
    return (this.perShard[0] ?? []).filter(({ name }) => this.every(name as string));
  }

  /** Whether any shard has an index of this name that passes the test. */
  some(name: string, test: (index: Document) => boolean = () => true): boolean {
    return this.perShard.some((list) => list.some((index) => index.name === name && test(index)));
  }

  /** Whether every shard has an index of this name that passes the test. */
  every(name: string, test: (index: Document) => boolean = () => true): boolean {
    return this.perShard.every((list) => list.some((index) => index.name === name && test(index)));
  }
}

const none: NodeIndexes = { ready: [], building: [] };

/**
 * The indexes of a collection on each of its shards: a broadcast may have failed on some. A router lists those of one
 * shard alone, which is all if the collection is on one shard. A user without the privilege `indexStats` sees no more.
 */
export async function presentIndexes(
  { client, signal }: IndexBuilding,
  { entry, sharding }: CollectionPlan,
): Promise<PresentIndexes> {
  const ofShards = sharding === null ? [] : [...(await indexStatsByShard(client, entry, signal)).values()];
  const perShard =
    ofShards.length > 0 ? ofShards : [(await listIndexes(client, entry.database, entry.name, signal)) ?? none];
  const namespace = namespaceOf(entry);
  const portable = (index: Document): Document => portableIndex(namespace, index).index;
  return new PresentIndexes(
    perShard.map(({ ready }) => ready.map(portable)),
    perShard.flatMap(({ building }) => building.map(portable)),
  );
}
