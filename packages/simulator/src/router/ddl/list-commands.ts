import { Long } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf } from '../../node/namespace.js';
import { compileMatcher } from '../../query/matcher.js';
import { ShardCursor } from '../read/shard-cursor.js';
import { commandNamespace, type RouterContext } from '../router-context.js';

/** `listCollections` of the primary shard of a database, and of the collections that were moved to others. */
export async function listCollectionsCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const primary = context.primaryOf(request.db);
  const documents = primary === undefined ? [] : await wholeList(context, request, primary);
  const moved = context.catalog.movedOf(request.db).filter((namespace) => context.primaryOf(namespace) !== primary);
  for (const namespace of moved) {
    const named = doc(['$and', [docOrEmpty(request.body.get('filter')), doc(['name', collectionOf(namespace)])]]);
    for (const shard of context.holdersOf(namespace))
      documents.push(...(await wholeList(context, request, shard, new Map(request.body).set('filter', named))));
  }
  return listReply(`${request.db}.$cmd.listCollections`, documents);
}

/** `listIndexes`, asked of one shard that owns chunks of the collection. */
export async function listIndexesCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const collection = context.catalog.collection(namespace);
  // No shard reports that a collection has been sharded which this router counts as unsharded (seen on 5.0.7).
  const shard =
    collection === undefined || context.routing.collection(namespace) === undefined
      ? context.primaryOf(namespace)
      : context.catalog.shard(collection.chunks.chunks[0]?.shard ?? '');
  if (shard === undefined) throw new CommandError(26, 'NamespaceNotFound', `ns does not exist: ${namespace}`);
  return listReply(namespace, await wholeList(context, request, shard));
}

async function wholeList(
  context: RouterContext,
  request: CommandRequest,
  shard: ClusterShard,
  asked = request.body,
): Promise<Value[]> {
  const body = new Map(asked);
  body.delete('cursor');
  const cursor = await ShardCursor.open(context.sender, shard, request, body);
  const documents = cursor.takeAll();
  while (!cursor.drained) {
    await cursor.fill(undefined, request);
    documents.push(...cursor.takeAll());
  }
  return documents;
}

function listReply(namespace: string, documents: Value[]): Doc {
  return doc(['cursor', doc(['id', Long.ZERO], ['ns', namespace], ['firstBatch', documents])]);
}

const bytesPerMegabyte = 1024 * 1024;

/** `listDatabases`: those of all shards and of the config server, with summed sizes. */
export async function listDatabasesCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const filter = docOrEmpty(request.body.get('filter'));
  const matches = compileMatcher(filter);
  const nameOnly = isTrue(request.body.get('nameOnly'));
  const body = new Map(request.body);
  for (const own of ['filter', 'nameOnly']) body.delete(own);
  const sizes = new Map<string, Map<string, number>>();
  for (const shard of context.members) {
    const { databases } = await shardDatabases(context, request, shard, body);
    for (const [name, bytes] of databases) {
      if (!shownThrough(context, shard, name)) continue;
      const perShard = sizes.get(name) ?? new Map<string, number>();
      sizes.set(name, perShard.set(shard.id, bytes));
    }
  }
  const shown = [...sizes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, perShard]) => databaseEntry(name, perShard))
    .filter(matches);
  if (nameOnly) return doc(['databases', shown.map((entry) => doc(['name', entry.get('name') ?? '']))]);
  const total = shown.reduce((sum, entry) => sum + (numberOf(entry.get('sizeOnDisk')) ?? 0), 0);
  return doc(
    ['databases', shown],
    ['totalSize', Long.fromNumber(total)],
    ['totalSizeMb', Long.fromNumber(Math.floor(total / bytesPerMegabyte))],
  );
}

/** `local` belongs to each node, `admin` to the config server. */
function shownThrough(context: RouterContext, shard: ClusterShard, name: string): boolean {
  return name !== 'local' && (name !== 'admin' || shard === context.configShard);
}

function databaseEntry(name: string, perShard: ReadonlyMap<string, number>): Doc {
  const total = [...perShard.values()].reduce((sum, bytes) => sum + bytes, 0);
  const shards: Doc = new Map([...perShard].map(([shard, bytes]) => [shard, Long.fromNumber(bytes)]));
  return doc(['name', name], ['sizeOnDisk', Long.fromNumber(total)], ['empty', false], ['shards', shards]);
}

async function shardDatabases(
  context: RouterContext,
  request: CommandRequest,
  shard: ClusterShard,
  body: Doc,
): Promise<{ databases: [string, number][] }> {
  const list = (await context.sender.run(shard, request, body, { db: 'admin' })).get('databases');
  const databases: [string, number][] = [];
  for (const each of Array.isArray(list) ? list : []) {
    const entry = each instanceof RawDocument ? decodeDocument(each.bytes) : docOf(each);
    if (entry !== undefined) databases.push([textOrEmpty(entry.get('name')), numberOf(entry.get('sizeOnDisk')) ?? 0]);
  }
  return { databases };
}
