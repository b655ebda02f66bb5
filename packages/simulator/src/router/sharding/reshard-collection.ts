import { Binary, Int32, Long, ObjectId } from 'bson';
import { makeUuid } from '../../bson/uuid.js';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ChunkMap } from '../../config/chunk-map.js';
import { initialChunks, evenChunks } from '../../config/initial-chunks.js';
import { ShardKeyPattern } from '../../config/shard-key.js';
import type { Resharding } from '../../config/reshardings.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, isTrue, numberOf, requiredText } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { unsimulated } from '../../node/unsimulated.js';
import type { CollectionFacts } from '../../shard/shard-access.js';
import type { RouterContext } from '../router-context.js';
import { seriesNamespaceOf } from '../../time-series/bucketing.js';
import { indexName, servesKey } from './shard-collection.js';

/** Default number of chunks until 7.1 (manual: `reshardCollection`). */
const chunksDefault = 90;

/**
 * `reshardCollection`: changes the shard key of a sharded collection. Its documents are copied into a collection under
 * a new UUID, which replaces it at once.
 * @throws CommandError 118 for a collection that is not sharded, 2 and 72 for options the server refuses
 */
export async function reshardCollectionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const { body } = request;
  const collection = context.catalog.sharded(requiredText(body, 'reshardCollection'));
  if (collection.timeseries !== undefined && !context.version.atLeast(8, 0))
    throw new CommandError(238, 'NotImplemented', 'reshardCollection command is not supported for time-series');
  const key = ShardKeyPattern.parse(docOrEmpty(body.get('key')));
  refuseOptions(body);
  if (key.equals(collection.key) && !isTrue(body.get('forceRedistribution'))) return new Map();
  const { namespace } = collection;
  await held(context, { namespace, key: key.doc, provenance: 'reshardCollection' }, request);
  const uuid = makeUuid();
  const timestamp = context.clock.tick();
  const documents = ownedDocuments(context, collection);
  const chunks = newChunks(context, body, key, documents);
  replaceData(context, { ...collection, key, uuid, chunks }, documents);
  await context.catalog.saveCollection({
    ...collection,
    key,
    uuid,
    chunks,
    unique: false,
    epoch: new ObjectId(),
    timestamp,
    changedMs: Date.now(),
  });
  if (context.version.atLeast(6)) noteResharded(context, collection, key, uuid, body);
  return new Map();
}

/** Waits while what moves under another UUID hangs. */
export async function held(context: RouterContext, resharding: Resharding, { signal }: CommandRequest): Promise<void> {
  const { primary } = context.requireDatabase(databaseOf(resharding.namespace));
  await context.catalog.reshardings.hold(resharding, context.catalog.shard(primary), signal);
}

function refuseOptions(body: Doc): void {
  if (isTrue(body.get('unique')))
    throw new CommandError(2, 'BadValue', 'reshardCollection: unique shard keys are not supported');
  const collation = docOf(body.get('collation'));
  if (collation !== undefined && collation.get('locale') !== 'simple') {
    throw new CommandError(2, 'BadValue', "The collation for reshardCollection must be {locale: 'simple'}");
  }
  const zones = body.get('zones');
  if (Array.isArray(zones) && zones.length > 0) throw unsimulated('reshardCollection with zones');
  const chunks = numberOf(body.get('numInitialChunks'));
  if (chunks !== undefined && chunks < 1)
    throw new CommandError(2, 'BadValue', `BSON field 'numInitialChunks' value must be >= 1, actual value '${chunks}'`);
  if (body.has('shardDistribution')) throw unsimulated('shardDistribution');
}

/** The documents that the shards own. Orphans stay behind. */
export function ownedDocuments(
  { catalog }: RouterContext,
  { namespace, key, chunks }: ShardedCollection,
): Uint8Array[] {
  return chunks.shards.flatMap((shard) =>
    catalog.shard(shard).access.documents(namespace, (bytes) => chunks.holderOf(key.keyOf(bytes)) === shard),
  );
}

function newChunks(
  context: RouterContext,
  body: Doc,
  pattern: ShardKeyPattern,
  documents: readonly Uint8Array[],
): ChunkMap {
  const shards = context.catalog.shards.map((shard) => shard.id);
  const time = context.clock.current();
  const asked = numberOf(body.get('numInitialChunks'));
  const count = asked ?? (context.version.atLeast(8, 0) ? shards.length : chunksDefault);
  if (!pattern.hashedFirst)
    return evenChunks(
      pattern,
      documents.map((document) => pattern.keyOf(document)),
      count,
      shards,
      time,
      context.version.atLeast(8, 0),
    );
  return initialChunks({
    pattern,
    empty: true,
    primary: shards[0] ?? '',
    shards,
    zones: [],
    shardsOfZone: () => [],
    chunkCount: count,
    chunksPerShard: 1,
    time,
    holdsMaxKey: context.version.atLeast(8, 0),
  });
}

/** Copies the documents to their new shards and replaces the collection by the copies, without an event. */
function replaceData(
  { catalog }: RouterContext,
  collection: ShardedCollection,
  documents: readonly Uint8Array[],
): void {
  const { namespace, key, chunks, uuid } = collection;
  const facts = catalog.shards.map((shard) => shard.access.collection(namespace)).find((each) => each !== undefined);
  if (facts === undefined) throw new CommandError(26, 'NamespaceNotFound', `ns does not exist: ${namespace}`);
  const served = facts.indexes.some((index) => servesKey(index, key));
  const indexes = served
    ? facts.indexes
    : [...facts.indexes, doc(['v', new Int32(2)], ['key', key.doc], ['name', indexName(key.doc)])];
  for (const shard of catalog.shards) {
    const received = documents.filter((document) => chunks.holderOf(key.keyOf(document)) === shard.id);
    if (chunks.shards.includes(shard.id)) copyAside(shard, { ...facts, indexes }, uuid, received);
    shard.access.forgetCollection(namespace);
    shard.access.renameSilently(besideOf(facts), namespace);
  }
}

/** Where servers store the copy of a collection until it replaces the collection. */
export function besideOf({ namespace, uuid }: Pick<CollectionFacts, 'namespace' | 'uuid'>): string {
  const ofBuckets = seriesNamespaceOf(namespace) === undefined ? '' : 'buckets.';
  return `${databaseOf(namespace)}.system.${ofBuckets}resharding.${uuid.toUUID().toString()}`;
}

/** Creates the copy of a collection on a shard, under a UUID of its own, without an event. */
export function copyAside(
  { access }: ClusterShard,
  facts: CollectionFacts,
  uuid: Binary,
  documents: readonly Uint8Array[],
): void {
  access.ensureCollection(besideOf(facts), uuid, facts.options, facts.indexes);
  if (documents.length > 0) access.receiveMigrated(besideOf(facts), documents);
}

function noteResharded(
  context: RouterContext,
  before: ShardedCollection,
  key: ShardKeyPattern,
  uuid: Binary,
  body: Doc,
): void {
  const description = doc(
    ['reshardUUID', uuid],
    ['shardKey', key.doc],
    ['oldShardKey', before.key.doc],
    ['unique', false],
  );
  const count = numberOf(body.get('numInitialChunks'));
  if (count !== undefined) description.set('numInitialChunks', Long.fromNumber(count));
  const { primary } = context.requireDatabase(databaseOf(before.namespace));
  context.catalog.shard(primary).access.noteDdl(before.namespace, 'reshardCollection', description);
}
