import { BSON, type Document } from 'mongodb';
import { mapBounded } from '../../async/together.js';
import { elementType } from '../../bson/element-type.js';
import { findElement, readDocument } from '../../bson/scan.js';
import { readCursor } from '../../catalog/list-namespaces.js';
import type { ClusterClient, NodeClient } from '../../cluster/node-client.js';
import { isAtLeast } from '../../cluster/topology.js';
import { clusterScope, type Item, listedItem } from '../item.js';

/** Characters of a value in the table. */
const shownMax = 120;

/** Default read and write concern, as far as somebody has set them. */
export async function readDefaultConcerns({ router, version }: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  const found = await router.command('admin', { getDefaultRWConcern: 1 }, { signal });
  // Before 5.0 a default is shown only if it was set.
  const isSet = (name: string): boolean =>
    found[name] !== undefined && (!isAtLeast(version, 5, 0) || found[`${name}Source`] === 'global');
  return ['defaultReadConcern', 'defaultWriteConcern'].filter(isSet).map((name) => {
    const concern = withoutProvenance(found[name] as Document);
    return setting('defaultConcerns', name, concern, { type: 'defaultConcern', set: { [name]: concern } });
  });
}

/** Servers say of a concern where it comes from, and refuse to be given that. */
function withoutProvenance(concern: Document): Document {
  return Object.fromEntries(Object.entries(concern).filter(([field]) => field !== 'provenance'));
}

/** Parameters in which servers keep what they know of themselves, or which have commands of their own. */
const internalParameters: ReadonlySet<string> = new Set([
  'addOrRemoveShardInProgress',
  'shardedClusterCardinalityForDirectConns',
  'querySettings',
]);

/** Parameters whose values name users. */
const hiddenParameters: ReadonlySet<string> = new Set(['auditConfig']);

/** The cluster parameters that a release has (6.0), and those of them that somebody has set. */
export async function readClusterParameters(
  { router, version }: ClusterClient,
  signal: AbortSignal,
): Promise<{ names: ReadonlySet<string>; items: Item[] }> {
  if (!isAtLeast(version, 6, 0)) return { names: new Set(), items: [] };
  const { clusterParameters } = await router.command('admin', { getClusterParameter: '*' }, { signal });
  const all = (clusterParameters ?? []) as Document[];
  return { names: new Set(all.map(({ _id }) => String(_id))), items: setParameters(all) };
}

function setParameters(all: readonly Document[]): Item[] {
  return all.flatMap(({ _id, clusterParameterTime, ...value }) => {
    const name = String(_id);
    if (internalParameters.has(name) || !wasSet(clusterParameterTime)) return [];
    const payload = { type: 'clusterParameter', parameter: name, value } as const;
    const item = setting('clusterParameters', name, value, payload);
    return [hiddenParameters.has(name) ? { ...item, shown: 'set' } : item];
  });
}

/** A parameter that nobody has set has the time 0. */
function wasSet(time: unknown): boolean {
  return time instanceof BSON.Timestamp && (time.t > 0 || time.i > 0);
}

/** Query settings with a query that shows their shape (8.0). */
export async function readQuerySettings({ router, version }: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  if (!isAtLeast(version, 8, 0)) return [];
  const command = { aggregate: 1, pipeline: [{ $querySettings: {} }], cursor: {} };
  const all = await readCursor(router, 'admin', command, (bytes) => Buffer.from(bytes), signal);
  return all.map((bytes) => {
    const { queryShapeHash, settings, representativeQuery } = BSON.deserialize(bytes) as {
      queryShapeHash: string;
      settings: Document;
      representativeQuery?: Document;
    };
    const query = documentElement(bytes, 'representativeQuery');
    const exact = documentElement(bytes, 'settings') ?? BSON.serialize({});
    const namespace = representativeQuery === undefined ? null : queriedNamespace(representativeQuery);
    return {
      kind: 'querySettings' as const,
      name: `${namespace ?? 'query'} ${queryShapeHash.slice(0, 16)}`,
      scope: namespace === null ? clusterScope : { of: 'namespaces' as const, namespaces: [namespace] },
      shown: Object.keys(settings).sort().join(', '),
      content: BSON.EJSON.stringify(BSON.deserialize(exact, { promoteValues: false }), { relaxed: false }),
      payload: query === null ? null : { type: 'querySettings' as const, query, settings: exact },
    };
  });
}

/** The namespace of a query, whose first field is its command and which has its database as `$db`. */
function queriedNamespace(query: Document): string | null {
  const collection: unknown = query.find ?? query.distinct ?? query.aggregate;
  return typeof collection === 'string' ? `${String(query.$db)}.${collection}` : null;
}

const databasesParallel = 8;

/** Databases that the profiler watches, on each server that keeps them. */
export async function readProfiler(
  cluster: ClusterClient,
  databases: readonly string[],
  signal: AbortSignal,
): Promise<Item[]> {
  const nodes: (readonly [string, NodeClient])[] =
    cluster.kind === 'replicaSet'
      ? [['', cluster.router] as const]
      : cluster.shardIds.map((id) => [` on ${id}`, cluster.shard(id)] as const);
  const asked = nodes.flatMap(([where, client]) => databases.map((database) => ({ where, client, database })));
  const items = await mapBounded(asked, databasesParallel, async ({ where, client, database }) => {
    const { was } = await client.command(database, { profile: -1 }, { signal });
    if (Number(was) === 0) return [];
    return [
      listedItem('profiler', `${database}${where}`, `level ${Number(was)}`, { of: 'databases', databases: [database] }),
    ];
  });
  return items.flat();
}

function setting(
  kind: 'defaultConcerns' | 'clusterParameters',
  name: string,
  value: Document,
  payload: Item['payload'],
): Item {
  const text = JSON.stringify(value);
  return {
    kind,
    name,
    scope: clusterScope,
    shown: text.length > shownMax ? `${text.slice(0, shownMax)}…` : text,
    content: BSON.EJSON.stringify(value),
    payload,
  };
}

/** The bytes of an embedded document; null if there is none of the name. */
function documentElement(bytes: Uint8Array, name: string): Uint8Array | null {
  const element = findElement(bytes, name);
  return element?.type === elementType.document ? Buffer.from(readDocument(bytes, element)) : null;
}
