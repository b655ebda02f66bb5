import { Long, MaxKey, ObjectId } from 'bson';
import { scanPath } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import { initialChunks, shuffledShards } from '../../config/initial-chunks.js';
import { compareKeys, isHashBound, ShardKeyPattern } from '../../config/shard-key.js';
import type { DatabaseEntry } from '../../config/database-entry.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { type ZoneRange, zoneMax, zoneMin } from '../../config/zone.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, isTrue, numberOf, requiredText, textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import { unsimulated } from '../../node/unsimulated.js';
import { documentText } from '../../bson/text.js';
import type { CollectionFacts } from '../../shard/shard-access.js';
import { timeSeriesOf } from '../../time-series/bucketing.js';
import { shardKeyIndex } from '../../time-series/translation.js';
import type { RouterContext } from '../router-context.js';
import { refuseTimeOfZone } from '../target/series-targets.js';

/**
 * `shardCollection`: creates the collection and its shard-key index where missing, and places its first chunks.
 * @throws CommandError 20, 23, 2, 72, 73, 31412 as the server refuses
 */
export async function shardCollectionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'shardCollection');
  const key = ShardKeyPattern.parse(docOrEmpty(request.body.get('key')), context.version);
  const unique = isTrue(request.body.get('unique'));
  const database = await shardableDatabase(context, databaseOf(namespace));
  if (!database.partitioned)
    throw new CommandError(20, 'IllegalOperation', `sharding not enabled for db ${database.name}`);
  refuseUniqueHashes(key, unique);
  refuseOtherCollation(request.body);
  refuseLongName(namespace);
  const reply = doc(['collectionsharded', namespace]);
  const present = context.catalog.collection(namespace);
  if (present !== undefined) {
    if (!present.key.equals(key) || present.unique !== unique)
      throw new CommandError(23, 'AlreadyInitialized', otherKeyText(context, key, present));
    context.routing.forget(namespace);
    return reply;
  }
  if (context.catalog.movedTo(namespace) !== undefined)
    throw unsimulated('shardCollection of a collection that was moved');
  const primary = context.catalog.shard(database.primary);
  const before = primary.access.collection(namespace);
  const zones = context.catalog.zonesOf(namespace);
  refuseOtherZones(key, zones);
  refuseTimeOfZone(
    { timeseries: docOf(before?.options.get('timeseries')) },
    zones.flatMap(({ minDocument, maxDocument }) => [minDocument, maxDocument]),
  );
  refuseChunkCount(request.body, key, before);
  refusePresplit(request.body, key, zones);
  if (before !== undefined) refuseCollection(before, request.body, key);
  await prepareCollection(context, request, namespace, before, key, unique);
  const facts = primary.access.collection(namespace);
  if (facts === undefined) throw new CommandError(26, 'NamespaceNotFound', `ns does not exist: ${namespace}`);
  await placeChunks(context, request, facts, key, unique, zones);
  context.routing.forget(namespace);
  return reply;
}

/** Since 6.0 a database needs no `enableSharding`, and is created when missing (manual: `enableSharding`). */
async function shardableDatabase(context: RouterContext, name: string): Promise<DatabaseEntry> {
  return context.version.atLeast(6, 0) ? context.catalog.createDatabase(name, true) : context.requireDatabase(name);
}

function refuseUniqueHashes(key: ShardKeyPattern, unique: boolean): void {
  if (!unique || key.hashedIndex < 0) return;
  const rule =
    "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness on the hashed field by " +
    'declaring an additional (non-hashed) unique index on the field.';
  throw invalidOptions(rule);
}

function refuseChunkCount(body: Doc, key: ShardKeyPattern, before: CollectionFacts | undefined): void {
  if ((numberOf(body.get('numInitialChunks')) ?? 0) === 0) return;
  if (key.hashedIndex < 0 || (before?.documentCount ?? 0) > 0)
    throw invalidOptions(
      'numInitialChunks is only supported when the collection is empty and has a hashed field in the shard key pattern',
    );
  if (key.hashedIndex > 0 && !isTrue(body.get('presplitHashedZones'))) {
    throw invalidOptions(
      "When the prefix of the hashed shard key is a range field, 'numInitialChunks' can only be used when the " +
        "'presplitHashedZones' is true",
    );
  }
}

function refuseOtherCollation(body: Doc): void {
  const collation = docOf(body.get('collation'));
  if (collation?.has('locale') === false)
    throw new CommandError(40414, 'Location40414', "BSON field 'collation.locale' is missing but a required field");
  if (collation !== undefined && collation.get('locale') !== 'simple') {
    throw new CommandError(
      2,
      'BadValue',
      `The collation for shardCollection must be {locale: 'simple'}, but found: ${documentText(collation)}`,
    );
  }
}

/** Longest name of a sharded collection in bytes (manual, "MongoDB Limits"). */
const shardedBytesMax = 235;

/** Of a time series, the name of its buckets counts (8.0.10 source). */
function refuseLongName(namespace: string): void {
  const bytes = Buffer.byteLength(namespace);
  if (bytes <= shardedBytesMax) return;
  const rule = `${bytes} bytes, and that of a sharded collection at most ${shardedBytesMax}`;
  throw new CommandError(73, 'InvalidNamespace', `The name of ${namespace} has ${rule}`);
}

function invalidOptions(message: string): CommandError {
  return new CommandError(72, 'InvalidOptions', message);
}

/** Existing zones must have the key's fields, and hashes under a hashed one. @throws CommandError 72 */
function refuseOtherZones(key: ShardKeyPattern, zones: readonly ZoneRange[]): void {
  for (const { minDocument, maxDocument } of zones) {
    const shown = `${documentText(minDocument)} -->> ${documentText(maxDocument)}`;
    if ([...minDocument.keys()].join() !== key.fields.join()) {
      throw invalidOptions(
        `the proposed shard key ${documentText(key.doc)} does not match with the shard key of the existing ` +
          `zone ${shown}`,
      );
    }
    const hashes = [minDocument, maxDocument].map((bound) => bound.get(key.fields[key.hashedIndex] ?? '') ?? null);
    if (key.hashedIndex < 0 || hashes.every(isHashBound)) continue;
    const rule = `because there exists a zone ${shown} whose boundaries are not of type NumberLong, MinKey or MaxKey`;
    throw invalidOptions(`cannot do hash sharding with the proposed key ${documentText(key.doc)} ${rule}`);
  }
}

function refusePresplit(body: Doc, key: ShardKeyPattern, zones: readonly ZoneRange[]): void {
  if (!isTrue(body.get('presplitHashedZones'))) return;
  const [zone] = zones;
  const whole =
    zones.length === 1 &&
    zone !== undefined &&
    compareKeys(zoneMin(zone), key.globalMin) === 0 &&
    compareKeys(zoneMax(zone), key.globalMax) === 0;
  if (!whole) {
    const rule =
      `For hashed prefix shard keys, 'presplitHashedZones' is only supported when there is a single zone defined ` +
      'which covers entire shard key range';
    throw new CommandError(31412, 'Location31412', rule);
  }
}

function refuseCollection(facts: CollectionFacts, body: Doc, key: ShardKeyPattern): void {
  if (isTrue(facts.options.get('capped'))) throw invalidOptions(`can't shard a capped collection`);
  const collation = docOf(facts.options.get('collation'));
  if (collation !== undefined && !body.has('collation')) {
    throw new CommandError(
      2,
      'BadValue',
      `Collection has default collation: ${documentText(collation)}. Must specify collation {locale: 'simple'}`,
    );
  }
  refuseIndexes(facts, key, { isSharded: false, unique: isTrue(body.get('unique')) });
}

/**
 * Refuses indexes that conflict with a shard key, and a missing one where there are documents.
 * @param options `isSharded` where the key refines another one; `unique` where it is to be unique
 * @throws CommandError 72
 */
export function refuseIndexes(
  facts: CollectionFacts,
  key: ShardKeyPattern,
  options: { isSharded: boolean; unique: boolean },
): void {
  for (const index of facts.indexes) {
    const fields = docOrEmpty(index.get('key'));
    if (isTrue(index.get('unique')) && !key.isPrefixOf(fields)) {
      const shown =
        `can't shard collection '${facts.namespace}' with unique index on ${documentText(fields)} and proposed ` +
        `shard key ${documentText(key.doc)}`;
      throw invalidOptions(`${shown}. Uniqueness can't be maintained unless shard key is a prefix`);
    }
  }
  const { isSharded, unique } = options;
  const found = facts.indexes.filter((index) => servesKey(index, key));
  const serving = found.length > 0 && unique && !hasUnique(facts.indexes, facts.namespace, key) ? [] : found;
  if (serving.length > 0 && serving.every((index) => facts.isMultikey(textOrEmpty(index.get('name')))))
    throw invalidOptions("couldn't find valid index for shard key");
  const isEmpty = facts.documentCount === 0 && !isSharded;
  if (!isEmpty && serving.length === 0) {
    throw invalidOptions(
      'Please create an index that starts with the proposed shard key before ' +
        `${isSharded ? 'refining the shard key of' : 'sharding'} the collection`,
    );
  }
}

/** True when an index can serve as the index of a shard key. */
export function servesKey(index: Doc, key: ShardKeyPattern): boolean {
  const fields = docOf(index.get('key'));
  const restricted = ['sparse', 'partialFilterExpression', 'collation'].some((name) => index.has(name));
  const idIndex = fields?.size === 1 && fields.has('_id') && index.get('name') === '_id_';
  return fields !== undefined && key.isPrefixOf(fields) && (!restricted || idIndex);
}

async function prepareCollection(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  before: CollectionFacts | undefined,
  key: ShardKeyPattern,
  unique: boolean,
): Promise<void> {
  const db = databaseOf(namespace);
  const primary = await context.primaryForWrite(namespace);
  if (before === undefined)
    await context.sender.run(primary, request, doc(['create', collectionOf(namespace)]), { db });
  const indexes = before?.indexes ?? primary.access.collection(namespace)?.indexes ?? [];
  if (indexes.some((index) => servesKey(index, key)) && (!unique || hasUnique(indexes, namespace, key))) return;
  const series = before === undefined ? undefined : timeSeriesOf(before.options);
  const fields = series === undefined ? key.doc : shardKeyIndex(series, key.doc, context.version);
  const spec = doc(['key', fields], ['name', indexName(fields)]);
  if (unique) spec.set('unique', true);
  if (before?.options.has('collation') === true) spec.set('collation', doc(['locale', 'simple']));
  await context.sender.run(primary, request, doc(['createIndexes', collectionOf(namespace)], ['indexes', [spec]]), {
    db,
  });
}

/**
 * Whether there is an index of exactly a shard key that is to be unique.
 * @throws CommandError 72 when it is not unique
 */
function hasUnique(indexes: readonly Doc[], namespace: string, key: ShardKeyPattern): boolean {
  const same = indexes.find((index) => {
    const fields = docOrEmpty(index.get('key'));
    return key.isPrefixOf(fields) && fields.size === key.fields.length;
  });
  if (same === undefined) return false;
  if (isTrue(same.get('unique')) || key.fields[0] === '_id') return true;
  const rule = 'index not unique, and unique index explicitly specified';
  throw invalidOptions(`can't shard collection ${namespace}, ${documentText(key.doc)} ${rule}`);
}

/** The name of an index that is made for a shard key. */
export function indexName(key: Doc): string {
  return [...key]
    .map(([field, value]) => `${field}_${value === 'hashed' ? 'hashed' : String(numberOf(value))}`)
    .join('_');
}

/** The misspelling is that of 8.0.10. */
function otherKeyText(
  { version }: RouterContext,
  key: ShardKeyPattern,
  { namespace, key: found }: ShardedCollection,
): string {
  if (!version.atLeast(8, 0)) return `sharding already enabled for collection ${namespace}`;
  return (
    `Collection '${namespace}' already exists with a differnt shard key. ` +
    `Requested ${documentText(key.doc)} but found ${documentText(found.doc)}`
  );
}

async function placeChunks(
  context: RouterContext,
  request: CommandRequest,
  facts: CollectionFacts,
  key: ShardKeyPattern,
  unique: boolean,
  zones: readonly ZoneRange[],
): Promise<void> {
  const { catalog, clock } = context;
  const timestamp = clock.tick();
  const is80 = context.version.atLeast(8, 0);
  const chunks = initialChunks({
    pattern: key,
    empty: facts.documentCount === 0,
    primary: context.requireDatabase(databaseOf(facts.namespace)).primary,
    shards: is80 ? shuffledShards(catalog.shards.map(({ id }) => id)) : catalog.shards.map(({ id }) => id),
    zones: isTrue(request.body.get('presplitHashedZones')) ? [] : zones,
    shardsOfZone: (zone) => catalog.shardsOfZone(zone),
    chunkCount: is80 ? undefined : numberOf(request.body.get('numInitialChunks')),
    chunksPerShard: is80 ? 1 : 2,
    time: timestamp,
    holdsMaxKey: is80,
  });
  const collection: ShardedCollection = {
    namespace: facts.namespace,
    uuid: facts.uuid,
    key,
    unique,
    defaultCollation: docOf(facts.options.get('collation')),
    epoch: new ObjectId(),
    timestamp,
    changedMs: Date.now(),
    noBalance: false,
    timeseries: docOf(facts.options.get('timeseries')),
    chunks,
  };
  for (const id of chunks.shards)
    catalog.shard(id).access.ensureCollection(facts.namespace, facts.uuid, facts.options, facts.indexes);
  await catalog.saveCollection(collection);
  noteUnowned(context, collection);
  if (context.version.atLeast(6)) noteSharded(context, request.body, collection);
}

/** A document whose key is MaxKey alone lies in no chunk: routed reads do not find it any more. */
function noteUnowned({ catalog }: RouterContext, collection: ShardedCollection): void {
  const isUnowned = (document: Uint8Array): boolean =>
    collection.key.fields.every((field) => scanPath(document, field) instanceof MaxKey);
  for (const id of collection.chunks.shards) {
    const shard = catalog.shard(id);
    if (shard.access.documents(collection.namespace, isUnowned).length > 0) shard.noteOrphans(collection);
  }
}

/**
 * The event of change streams with expanded events. Since 8.0 without the number of chunks, which the command no longer
 * takes.
 */
function noteSharded(context: RouterContext, body: Doc, collection: ShardedCollection): void {
  const description = doc(['shardKey', collection.key.doc], ['unique', collection.unique]);
  if (!context.version.atLeast(8))
    description.set('numInitialChunks', Long.fromNumber(numberOf(body.get('numInitialChunks')) ?? 0));
  description.set('presplitHashedZones', isTrue(body.get('presplitHashedZones')));
  if (context.version.atLeast(8)) description.set('capped', false);
  const { primary } = context.requireDatabase(databaseOf(collection.namespace));
  context.catalog.shard(primary).access.noteDdl(collection.namespace, 'shardCollection', description);
}
