import { Double, Int32, Long, type Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { clusterTimeField } from '../../every-node/cluster-time.js';
import { opTime } from '../../every-node/hello.js';
import { doc, docOf, docOrEmpty, numberOf, requiredText } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import type { ServerVersion } from '../../node/server-version.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { fanOut } from './fan-out.js';

const summed = ['count', 'size', 'storageSize', 'totalIndexSize', 'totalSize'] as const;

/** `collStats` through a router: the sums, and each shard's own reply. */
export async function collStatsCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const collection = context.catalog.collection(namespace);
  const shards = context.holdersOf(namespace);
  if (shards.length === 0) throw new CommandError(26, 'NamespaceNotFound', `Database [${request.db}] not found.`);
  const replies = await context.sender.runOnAll(shards, request, request.body);
  const own = [...replies].map(([shard, reply]): [string, Doc] => [shard.id, wholeReply(context, shard, reply)]);
  const [first] = own.map(([, reply]) => reply);
  const totals = doc(...summed.map((name): [string, Value] => [name, sum(own, name)]));
  const stats = doc(['sharded', collection !== undefined]);
  if (collection === undefined) stats.set('primary', shards[0]?.id ?? '');
  for (const name of ['capped', 'max', 'wiredTiger', 'indexDetails'])
    if (first?.has(name) === true) stats.set(name, first.get(name) ?? null);
  stats.set('ns', namespace);
  for (const [name, value] of totals) stats.set(name, value);
  const count = numberOf(totals.get('count')) ?? 0;
  stats.set('indexSizes', indexSizes(own));
  stats.set('avgObjSize', new Double(count === 0 ? 0 : Math.floor((numberOf(totals.get('size')) ?? 0) / count)));
  stats.set('maxSize', Long.fromNumber(numberOf(sum(own, 'maxSize')) ?? 0));
  stats.set('nindexes', first?.get('nindexes') ?? new Int32(0));
  stats.set('scaleFactor', first?.get('scaleFactor') ?? new Int32(1));
  return stats.set('nchunks', new Int32(collection?.chunks.chunks.length ?? 1)).set('shards', new Map(own));
}

/** A shard's reply with all fields that it has on the wire. */
function wholeReply(context: RouterContext, shard: ClusterShard, reply: Doc): Doc {
  const topologyTime = context.catalog.shards.at(-1)?.addedAt ?? shard.addedAt;
  const added = memberReplyFields(shard, context.clock.current(), topologyTime, context.version);
  return new Map([...reply, ['ok', reply.get('ok') ?? new Double(1)], ...added]);
}

function sum(replies: readonly [string, Doc][], name: string): Value {
  return integer(replies.reduce((total, [, reply]) => total + (numberOf(reply.get(name)) ?? 0), 0));
}

/** An int where it fits, otherwise a long. */
function integer(value: number): Value {
  return Number.isInteger(value) && Math.abs(value) <= 0x7fffffff ? new Int32(value) : Long.fromNumber(value);
}

function indexSizes(replies: readonly [string, Doc][]): Doc {
  const sizes = new Map<string, number>();
  for (const [, reply] of replies) {
    for (const [name, value] of docOf(reply.get('indexSizes')) ?? [])
      sizes.set(name, (sizes.get(name) ?? 0) + (numberOf(value) ?? 0));
  }
  return new Map([...sizes].map(([name, size]) => [name, integer(size)]));
}

/** `dbStats` through a router: each shard's own reply and the sums. */
export async function dbStatsCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const reply = await fanOut(context, request, context.catalog.shards);
  const each = [...docOrEmpty(reply.get('raw'))].map(([host, stats]): [string, Doc] => [host, docOrEmpty(stats)]);
  const objects = numberOf(sum(each, 'objects')) ?? 0;
  const dataSize = numberOf(sum(each, 'dataSize')) ?? 0;
  if (context.version.atLeast(8, 0)) return new Map([...reply, ...sumsOf80(request, each, objects, dataSize)]);
  reply
    .set('objects', integer(objects))
    .set('avgObjSize', new Double(objects === 0 ? 0 : Math.floor(dataSize / objects)));
  for (const name of ['dataSize', 'storageSize', 'totalSize', 'indexes', 'indexSize']) reply.set(name, sum(each, name));
  return reply.set('scaleFactor', request.body.get('scale') ?? new Int32(1)).set('fileSize', new Int32(0));
}

function sumsOf80(request: CommandRequest, each: readonly [string, Doc][], objects: number, dataSize: number): Doc {
  const double = (name: string): Value => new Double(numberOf(sum(each, name)) ?? 0);
  return doc(
    ['db', request.db],
    ['collections', sum(each, 'collections')],
    ['views', sum(each, 'views')],
    ['objects', integer(objects)],
    ['avgObjSize', new Double(objects === 0 ? 0 : dataSize / objects)],
    ['dataSize', new Double(dataSize)],
    ['storageSize', double('storageSize')],
    ['indexes', sum(each, 'indexes')],
    ['indexSize', double('indexSize')],
    ['totalSize', double('totalSize')],
    ['scaleFactor', request.body.get('scale') ?? new Int32(1)],
    ['fsUsedSize', double('fsUsedSize')],
    ['fsTotalSize', double('fsTotalSize')],
  );
}

/** `dataSize` of a collection: the sums over its shards. @throws CommandError 26 for one of an unknown database */
export async function dataSizeCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'dataSize');
  const shards = context.holdersOf(namespace);
  if (shards.length === 0) context.requireDatabase(databaseOf(namespace));
  const replies = await context.sender.runOnAll(shards, request, request.body);
  const own = [...replies].map(([shard, reply]): [string, Doc] => [shard.id, reply]);
  const isLong = context.version.atLeast(8, 0);
  const total = (name: string): Value => {
    const all = own.reduce((sum, [, reply]) => sum + (numberOf(reply.get(name)) ?? 0), 0);
    return isLong ? Long.fromNumber(all) : new Double(all);
  };
  return doc(
    ['size', total('size')],
    ['numObjects', total('numObjects')],
    ['millis', isLong ? Long.ZERO : new Int32(0)],
  );
}

/** `validate` on every shard that holds the collection. */
export async function validateCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const shards = context.holdersOf(namespace);
  if (shards.length === 0)
    throw new CommandError(26, 'NamespaceNotFound', `Collection '${namespace}' does not exist to validate.`);
  const reply = await fanOut(context, request, shards).catch(withoutRaw);
  const replies = [...docOrEmpty(reply.get('raw')).values()];
  return doc(['valid', replies.every((each) => docOf(each)?.get('valid') === true)], ['raw', reply.get('raw') ?? null]);
}

/** A shard's refusal as `validate` returns it: without the shards' own replies. */
function withoutRaw(error: unknown): never {
  if (!(error instanceof CommandError)) throw error;
  throw new CommandError(error.code, error.codeName, error.message, error.labels);
}

/**
 * The fields that a shard adds to replies to a router. Clients see them only where a router returns whole replies of
 * its shards.
 * @param current the newest cluster time
 * @param topologyTime time of the latest added shard
 */
function memberReplyFields(
  shard: ClusterShard,
  current: Timestamp,
  topologyTime: Timestamp,
  version: ServerVersion,
): Doc {
  const applied = shard.access.lastAppliedTime();
  if (version.atLeast(8, 0))
    return doc(
      ['$clusterTime', doc(['clusterTime', current])],
      ['$configTime', current],
      ['$topologyTime', topologyTime],
      ['operationTime', applied],
    );
  return doc(
    ['$gleStats', doc(['lastOpTime', opTime(applied)], ['electionId', shard.node.electionId])],
    ['lastCommittedOpTime', applied],
    ['$configServerState', doc(['opTime', doc(['ts', current], ['t', Long.fromInt(-1)])])],
    ['$clusterTime', clusterTimeField(current)],
    ['$configTime', current],
    ['$topologyTime', topologyTime],
    ['operationTime', applied],
  );
}
