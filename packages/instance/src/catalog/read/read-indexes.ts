import type { Document } from 'mongodb';
import type { ClusterClient, NodeClient, Namespace } from '../../cluster/node-client.js';
import { codeOf, unauthorizedCode, serverErrorCode } from '../../cluster/failure.js';
import { canonicalText } from '../canonical-text.js';
import { decodeIndexStats, decodeListedIndex, type ListedIndex } from './decode-catalog.js';
import type { ListedNamespace } from './list-namespaces.js';
import type { IndexForm, InconsistentIndex, Sharding } from '../namespace.js';
import { readCursor } from './read-cursor.js';

interface CollectionIndexes {
  /** As `listIndexes` shows them. */
  indexes: Document[];
  /** The indexes that a shard is building. Another one may have finished: they are in none of the other lists. */
  building: Document[];
  inconsistent: InconsistentIndex[];
}

/** The indexes of a collection on one node. */
export interface NodeIndexes {
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
    const namespace = `${listed.database}.${listed.name}`;
    return [{ namespace, index: name, shards, forms: formsOf(name, lists) }];
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
