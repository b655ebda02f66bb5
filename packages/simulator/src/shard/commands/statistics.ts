import { Double, Int32, Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { failure } from '../failure.js';
import { OPLOG_NAMESPACE } from '../oplog/oplog-documents.js';
import type { Oplog } from '../oplog/oplog.js';
import type { Collection } from '../storage/collection.js';
import { refuseView } from '../write/refuse-view.js';
import { indexBytes, storageBytes } from './lists.js';
import { readTarget, targetNamespace, type CommandContext } from './command-context.js';

/** Disk sizes of the simulated host, in bytes. */
const DISK_USED_BYTES = 50_000_000_000;
const DISK_TOTAL_BYTES = 250_000_000_000;

/** A size as the server gives it: an int while it fits. */
export function sizeValue(bytes: number): Value {
  return bytes === (bytes | 0) ? new Int32(bytes) : Long.fromNumber(bytes);
}

/** `collStats` of a collection, sizes divided by `scale`. @throws CommandError 166 for a view */
export function collStats(context: CommandContext): Doc {
  const { request, state } = context;
  const { namespace, collection } = readTarget(context);
  const scale = numberOf(request.body.get('scale')) ?? 1;
  refuseView(state, namespace);
  const reply: Doc = new Map<string, Value>([['ns', namespace]]);
  if (namespace === OPLOG_NAMESPACE) return new Map([...reply, ...oplogStats(state.oplog, scale)]);
  if (collection === undefined) return emptyStats(reply, scale, state.version);
  for (const [name, value] of storageStats(collection, scale, state.version)) {
    if (name === 'nindexes') reply.set('wiredTiger', fileDetails(COLLECTION_FORMAT_VERSION));
    reply.set(name, value);
    if (name === 'nindexes') reply.set('indexDetails', indexDetails(collection));
  }
  return reply;
}

/** Versions of the files' formats, as the server's storage engine names them. */
const COLLECTION_FORMAT_VERSION = 1;
const INDEX_FORMAT_VERSION = 8;

/** The storage engine's report on a file. This one is in memory and reports only the format. */
function fileDetails(formatVersion: number): Doc {
  return new Map<string, Value>([
    ['metadata', new Map([['formatVersion', new Int32(formatVersion)]])],
    ['type', 'file'],
  ]);
}

function indexDetails(collection: Collection): Doc {
  return new Map(collection.indexes.map(({ definition }) => [definition.name, fileDetails(INDEX_FORMAT_VERSION)]));
}

function emptyStats(reply: Doc, scale: number, version: ServerVersion): Doc {
  const orphans = version.atLeast(8, 0) ? ['numOrphanDocs'] : [];
  for (const name of ['size', 'count', ...orphans, 'storageSize', 'totalSize', 'nindexes', 'totalIndexSize'])
    reply.set(name, new Int32(0));
  return reply.set('indexDetails', new Map()).set('indexSizes', new Map()).set('scaleFactor', new Int32(scale));
}

/** The sizes of the oplog, from which tools estimate how far it reaches back. */
export function oplogStats(oplog: Oplog, scale: number): Doc {
  return new Map<string, Value>([
    ['size', sizeValue(Math.floor(oplog.bytes / scale))],
    ['count', sizeValue(oplog.end - oplog.start)],
    ['capped', true],
    ['maxSize', sizeValue(Math.floor(oplog.bytesMax / scale))],
  ]);
}

/** The sizes of a collection, as `collStats` and `$collStats` show them. */
export function storageStats(collection: Collection, scale: number, version: ServerVersion): Doc {
  const { documentCount: count, documentBytes: bytes, indexes } = collection;
  const scaled = (size: number): Value => sizeValue(Math.floor(size / scale));
  const perIndex = indexBytes(collection);
  const stats: Doc = new Map<string, Value>([
    ['size', scaled(bytes)],
    ['count', sizeValue(count)],
  ]);
  if (count > 0) stats.set('avgObjSize', sizeValue(Math.floor(bytes / count)));
  // Orphans that wait for clean-up are not counted here.
  if (version.atLeast(8, 0)) stats.set('numOrphanDocs', new Int32(0));
  stats.set('storageSize', scaled(storageBytes(collection)));
  stats.set('freeStorageSize', new Int32(0));
  stats.set('capped', collection.cap !== undefined);
  if (collection.cap !== undefined) {
    stats.set('max', sizeValue(collection.cap.documentsMax === Infinity ? 0 : collection.cap.documentsMax));
    stats.set('maxSize', scaled(collection.cap.bytesMax));
  }
  stats.set('nindexes', new Int32(indexes.length));
  stats.set('indexBuilds', []);
  stats.set('totalIndexSize', scaled(perIndex * indexes.length));
  const totalSize = scaled(perIndex * indexes.length + storageBytes(collection));
  const indexSizes = new Map(indexes.map(({ definition }) => [definition.name, scaled(perIndex)]));
  if (version.atLeast(8, 0)) stats.set('indexSizes', indexSizes).set('totalSize', totalSize);
  else stats.set('totalSize', totalSize).set('indexSizes', indexSizes);
  return stats.set('scaleFactor', new Int32(scale));
}

/** `dbStats`: sums over the collections of a database. */
export function dbStats({ state, request }: CommandContext): Doc {
  const { db } = request;
  const scale = numberOf(request.body.get('scale')) ?? 1;
  const collections = state.catalog.collectionsOf(db);
  const sum = (of: (collection: Collection) => number): number =>
    collections.reduce((total, collection) => total + of(collection), 0);
  const objects = sum((collection) => collection.documentCount);
  const bytes = sum((collection) => collection.documentBytes);
  const storage = sum(storageBytes);
  const indexSize = sum((collection) => indexBytes(collection) * collection.indexes.length);
  const isLong = state.version.atLeast(8, 0);
  const count = (value: number): Value => (isLong ? Long.fromNumber(value) : sizeValue(value));
  return new Map<string, Value>([
    ['db', db],
    ['collections', count(collections.length)],
    ['views', count(state.catalog.viewsOf(db).length)],
    ['objects', count(objects)],
    ['avgObjSize', new Double(objects === 0 ? 0 : bytes / objects)],
    ['dataSize', new Double(bytes / scale)],
    ['storageSize', new Double(storage / scale)],
    ['indexes', count(sum(countedIndexes))],
    ['indexSize', new Double(indexSize / scale)],
    ['totalSize', new Double((storage + indexSize) / scale)],
    ['scaleFactor', isLong ? Long.fromNumber(scale) : new Double(scale)],
    ['fsUsedSize', new Double(DISK_USED_BYTES)],
    ['fsTotalSize', new Double(DISK_TOTAL_BYTES)],
  ]);
}

/**
 * Clustered collections, such as buckets of time series, store documents in the order of `_id`, without an index for
 * it.
 */
function countedIndexes(collection: Collection): number {
  return collection.indexes.length - (collection.options.has('clusteredIndex') ? 1 : 0);
}

/** `dataSize` of a whole collection, named with its database; an estimate is exact here. */
export function dataSize({ state, request }: CommandContext): Doc {
  const namespace = request.body.get(request.name);
  const collection = typeof namespace === 'string' ? state.catalog.collection(namespace) : undefined;
  const count = collection?.documentCount ?? 0;
  const isLast = state.version.atLeast(8, 0);
  const value = (size: number): Value => (isLast ? Long.fromNumber(size) : sizeValue(size));
  const estimate: [string, Value][] = count === 0 ? [] : [['estimate', isTrue(request.body.get('estimate'))]];
  const sizes: [string, Value][] = [
    ['size', value(collection?.documentBytes ?? 0)],
    ['numObjects', value(count)],
    ['millis', value(0)],
  ];
  return new Map(isLast ? [...sizes, ...estimate] : [...estimate, ...sizes]);
}

/** `validate`: simulated storage cannot be damaged, so this only counts. */
export function validate(context: CommandContext): Doc {
  const namespace = targetNamespace(context);
  const collection = context.state.catalog.collection(namespace);
  if (collection === undefined)
    throw failure.namespaceNotFound(`Collection '${namespace}' does not exist to validate.`);
  const keys = new Map(
    collection.indexes.map(({ definition }) => [definition.name, sizeValue(collection.documentCount)]),
  );
  return new Map<string, Value>([
    ['ns', namespace],
    ['nInvalidDocuments', new Int32(0)],
    ['nrecords', sizeValue(collection.documentCount)],
    ['nIndexes', new Int32(collection.indexes.length)],
    ['keysPerIndex', keys],
    ['valid', true],
    ['repaired', false],
    ['warnings', []],
    ['errors', []],
    ['extraIndexEntries', []],
    ['missingIndexEntries', []],
    ['corruptRecords', []],
  ]);
}
