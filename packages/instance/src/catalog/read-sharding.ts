import { BSON, type Document } from 'mongodb';
import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { decodeConfigDocument, uuidHex } from './catalog-bytes.js';
import { type Chunk, type KeyPattern, sameDocument, type Sharding } from './namespace.js';
import { type ListedNamespace, readCursor } from './list-namespaces.js';

/** Config reads use majority: a chunk map must not be rolled back afterwards. */
const MAJORITY = { level: 'majority' };

/** How one collection is distributed over the shards. */
export interface Placement {
  sharding: Sharding | null;
  /** Owner of an unsharded collection, or the primary shard of a sharded one's database. */
  primaryShard: string;
  /** None for an unsharded collection that may lie off its database's primary shard. */
  primaryVersion?: number;
}

/** Reads the placement of collections from a cluster's config database. */
export interface PlacementReader {
  /**
   * @returns null if the listed collection is gone or being dropped: another one has its name, or it has no chunks
   * @throws what the client throws
   */
  placementOf(listed: ListedNamespace, signal: AbortSignal): Promise<Placement | null>;
}

/** Readings until placements are taken as they are: primaries and chunks change more slowly than a catalog is read. */
const readingsMax = 3;

/**
 * Lists collections and loads `config.databases` and `config.collections`. A primary that moves meanwhile takes its
 * collections along under new UUIDs: the listing would have the old ones and the placements the new primary, so both
 * are read again. A replica set counts as one shard without sharded collections.
 * @throws what the client throws
 */
export async function listPlaced(
  cluster: ClusterClient,
  list: () => Promise<ListedNamespace[]>,
  signal: AbortSignal,
): Promise<{ listed: ListedNamespace[]; placements: PlacementReader }> {
  const firstShard = cluster.shardIds[0] ?? '';
  if (cluster.kind === 'replicaSet') {
    const placements = { placementOf: () => Promise.resolve({ sharding: null, primaryShard: firstShard }) };
    return { listed: await list(), placements };
  }
  let before = await readPrimaries(cluster, signal);
  for (let reading = 1; ; reading += 1) {
    const listed = await list();
    const primaries = await readPrimaries(cluster, signal);
    if (reading === readingsMax || !haveMoved(before, primaries))
      return { listed, placements: await openPlacementReader(cluster, primaries, signal) };
    before = primaries;
  }
}

type Primaries = ReadonlyMap<string, Pick<Placement, 'primaryShard' | 'primaryVersion'>>;

async function readPrimaries({ router }: ClusterClient, signal: AbortSignal): Promise<Primaries> {
  const rows = await readConfig(router, { find: 'databases', filter: {} }, signal);
  return new Map(rows.map((row) => [row._id as string, primaryOf(row)]));
}

/** Whether a database of both readings has another primary, or had one in between. */
function haveMoved(before: Primaries, after: Primaries): boolean {
  return [...after].some(([database, primary]) => {
    const earlier = before.get(database);
    return earlier !== undefined && !sameDocument(earlier, primary);
  });
}

async function openPlacementReader(
  cluster: ClusterClient,
  primaries: Primaries,
  signal: AbortSignal,
): Promise<PlacementReader> {
  const collections = await readConfig(cluster.router, { find: 'collections', filter: {} }, signal);
  const startedMoves = mayShowOrphans(cluster) ? await readStartedMoves(cluster.router, signal) : new Set<string>();
  const rows = new Map(collections.filter((row) => row.dropped !== true).map((row) => [row._id as string, row]));
  return {
    async placementOf(listed, callSignal) {
      const primary = primaries.get(listed.database) ?? { primaryShard: cluster.shardIds[0] ?? '' };
      const row = rows.get(`${listed.database}.${listed.name}`);
      if (row === undefined) return { sharding: null, ...primary };
      if (row.uuid !== undefined && uuidHex(row.uuid) !== listed.uuid) return null;
      const { chunks, everMoved } = await readChunks(cluster.router, row, callSignal);
      if (chunks.length === 0) return null;
      // From 8.0 on, moved unsharded collections are listed too, with one chunk at their owner. They stay there when
      // their database gets another primary shard, so its version says nothing of them.
      if (row.unsplittable === true) return { sharding: null, primaryShard: chunks[0]?.shard ?? primary.primaryShard };
      const mayHaveOrphans = everMoved || startedMoves.has(row._id as string);
      return {
        sharding: { key: row.key as KeyPattern, unique: row.unique === true, chunks, everMoved: mayHaveOrphans },
        ...primary,
      };
    },
  };
}

/** The primary shard in a database's row, and its version. */
function primaryOf(row: Document): Pick<Placement, 'primaryShard' | 'primaryVersion'> {
  const { lastMod } = (row.version as { lastMod?: number } | undefined) ?? {};
  return { primaryShard: row.primary as string, ...(lastMod !== undefined && { primaryVersion: lastMod }) };
}

/** Before 6.0, streams show events of orphans, and a router's stream does not show the shard. */
function mayShowOrphans({ access, version }: ClusterClient): boolean {
  return access === 'router' && version[0] < 6;
}

/**
 * Collections of which a chunk move was started, as far back as the capped log of the config servers reaches. An
 * aborted move leaves orphans on its recipient but does not change the chunks' versions.
 */
async function readStartedMoves(router: NodeClient, signal: AbortSignal): Promise<Set<string>> {
  const started = await readConfig(
    router,
    { find: 'changelog', filter: { what: 'moveChunk.start' }, projection: { _id: 0, ns: 1 } },
    signal,
  );
  return new Set(started.map((entry) => entry.ns as string));
}

/**
 * Whether the config servers still have a sharded collection under a name: a rename changes that after all shards have
 * executed it (server source of 5.0.7, `RenameCollectionCoordinator`).
 * @param uuid 32 hexadecimal digits
 */
export async function isShardedAs(
  { kind, router }: Pick<ClusterClient, 'kind' | 'router'>,
  namespace: string,
  uuid: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (kind === 'replicaSet') return false;
  const [row] = await readConfig(router, { find: 'collections', filter: { _id: namespace } }, signal);
  return row !== undefined && row.dropped !== true && row.uuid !== undefined && uuidHex(row.uuid) === uuid;
}

/**
 * Whether a collection is listed as one that is not sharded: from 8.0 on those that were moved or unsharded.
 * @param uuid 32 hexadecimal digits
 */
export async function isUnsplittable(
  { kind, router }: Pick<ClusterClient, 'kind' | 'router'>,
  uuid: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (kind === 'replicaSet') return false;
  const filter = { uuid: new BSON.Binary(Buffer.from(uuid, 'hex'), BSON.Binary.SUBTYPE_UUID) };
  const [row] = await readConfig(router, { find: 'collections', filter }, signal);
  return row?.unsplittable === true;
}

/** Documents of a collection of the config database, read at majority and decoded by `decodeConfigDocument`. */
export function readConfig(router: NodeClient, find: Document, signal: AbortSignal): Promise<Document[]> {
  return readCursor(router, 'config', { ...find, readConcern: MAJORITY }, decodeConfigDocument, signal);
}

/**
 * Chunks have the collection's UUID from 5.0 on, its name before (and until the feature version is raised). The major
 * number of their versions is 1 after the first distribution and grows with every chunk that moves.
 */
async function readChunks(
  router: NodeClient,
  row: Document,
  signal: AbortSignal,
): Promise<Pick<Sharding, 'chunks' | 'everMoved'>> {
  const find = (filter: Document): Promise<Document[]> =>
    readConfig(router, { find: 'chunks', filter, sort: { min: 1 } }, signal);
  const read = async (): Promise<Document[]> => {
    const rows = row.uuid === undefined ? [] : await find({ uuid: row.uuid as unknown });
    return rows.length > 0 ? rows : find({ ns: row._id as string });
  };
  let rows = await read();
  // A split or merge in the middle of a read leaves a gap or an overlap.
  for (let readings = 1; readings < readingsMax && !areAdjacent(rows); readings += 1) rows = await read();
  return {
    chunks: rows.map(chunkOf),
    everMoved: rows.some(({ lastmod }) => !(lastmod instanceof BSON.Timestamp) || lastmod.t > 1),
  };
}

/** Whether every chunk begins where the one before it ends. */
function areAdjacent(rows: readonly Document[]): boolean {
  return rows.every(
    ({ min }, index) => index === 0 || Buffer.compare(rows[index - 1]?.max as Uint8Array, min as Uint8Array) === 0,
  );
}

function chunkOf({ min, max, shard, lastmod, history }: Document): Chunk {
  const [owner] = (history as { validAfter: BSON.Timestamp }[] | undefined) ?? [];
  const chunk: Chunk = { min: min as Uint8Array, max: max as Uint8Array, shard: shard as string };
  if (lastmod instanceof BSON.Timestamp) chunk.version = lastmod;
  if (owner !== undefined) chunk.ownedSince = owner.validAfter;
  return chunk;
}
