import type { Document } from 'mongodb';
import type { ClusterClient, NodeClient } from '../../cluster/node-client.js';
import { codeOf, unauthorizedCode } from '../../cluster/failure.js';
import type { Namespace } from '../../cluster/namespace.js';
import { canonicalText } from '../canonical-text.js';
import { decodeIndex, decodeIndexStats } from './decode-catalog.js';
import type { ListedNamespace } from './list-namespaces.js';
import type { IndexForm, InconsistentIndex, Sharding } from '../namespace.js';
import { readCursor } from './read-cursor.js';
import { serverErrorCode } from '../../cluster/server-error-code.js';

interface CollectionIndexes {
  /** As `listIndexes` shows them. */
  indexes: Document[];
  inconsistent: InconsistentIndex[];
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
  if (indexes === null || owners.length < 2) return indexes === null ? null : { indexes, inconsistent: [] };
  const perShard = await indexStatsByShard(cluster.router, listed, signal);
  const seen = owners.filter((owner) => perShard.has(owner));
  const compared = mergedIndexes(
    listed,
    seen,
    seen.map((owner) => perShard.get(owner) ?? []),
  );
  return { indexes, inconsistent: compared?.inconsistent ?? [] };
}

/** Index specifications of a collection as one node sees it; null if there is no such collection. */
export async function listIndexes(
  client: NodeClient,
  database: string,
  collection: string,
  signal: AbortSignal,
): Promise<Document[] | null> {
  try {
    return await readCursor(client, database, { listIndexes: collection, cursor: {} }, decodeIndex, signal);
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

function mergedIndexes(
  listed: ListedNamespace,
  owners: readonly string[],
  perShard: readonly (Document[] | null)[],
): CollectionIndexes | null {
  const indexes = perShard[0];
  if (indexes === undefined || indexes === null) return null;
  const forms = perShard.map(
    (list) => new Map((list ?? []).map((index) => [index.name as string, canonicalText(index)])),
  );
  const names = [...new Set(forms.flatMap((form) => [...form.keys()]))].sort();
  const inconsistent: InconsistentIndex[] = [];
  for (const name of names) {
    const expected = forms.map((form) => form.get(name)).find((form) => form !== undefined);
    const shards = owners.filter((_, position) => forms[position]?.get(name) !== expected);
    if (shards.length === 0) continue;
    inconsistent.push({
      namespace: `${listed.database}.${listed.name}`,
      index: name,
      shards,
      forms: formsOf(name, perShard),
    });
  }
  return { indexes, inconsistent };
}

function formsOf(name: string, perShard: readonly (Document[] | null)[]): IndexForm[] {
  const forms = new Map<string, IndexForm>();
  for (const list of perShard) {
    const index = list?.find((one) => one.name === name) ?? null;
    const text = index === null ? '' : canonicalText(index);
    forms.set(text, { index, shards: (forms.get(text)?.shards ?? 0) + 1 });
  }
  return [...forms.values()].sort((a, b) => b.shards - a.shards);
}

/**
 * The indexes that stand on each shard of a collection, by the shard's name, as `$indexStats` reports them through a
 * router. Empty if the user has no privilege for it, or the collection is gone.
 */
export async function indexStatsByShard(
  router: NodeClient,
  { database, name }: Namespace,
  signal: AbortSignal,
): Promise<Map<string, Document[]>> {
  const perShard = new Map<string, Document[]>();
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
    if (typeof row.shard !== 'string' || row.spec === undefined || row.building === true) continue;
    perShard.set(row.shard, [...(perShard.get(row.shard) ?? []), row.spec as Document]);
  }
  return perShard;
}
