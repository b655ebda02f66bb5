import { Int32, Long, ObjectId } from 'bson';
import { makeUuid } from '../../bson/uuid.js';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { initialChunks } from '../../config/initial-chunks.js';
import { ShardKeyPattern } from '../../config/shard-key.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, requiredText } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { unsimulated } from '../../node/unsimulated.js';
import type { CollectionFacts } from '../../shard/shard-access.js';
import type { RouterContext } from '../router-context.js';
import type { Migration } from './chunk-migration.js';
import { besideOf, copyAside, held, ownedDocuments } from './reshard-collection.js';

/** The shard key of unsharded collections that are tracked. */
const trackedKey = ShardKeyPattern.parse(doc(['_id', new Int32(1)]));

/**
 * `moveCollection` (8.0): an unsharded collection gets a new UUID on another shard, and is tracked from then on.
 * @throws CommandError 26 and 70 for missing ones; 115 for a sharded one
 */
export async function moveCollectionCommand(
  context: RouterContext,
  request: CommandRequest,
  migration: Migration,
): Promise<Doc> {
  const namespace = requiredText(request.body, 'moveCollection');
  const to = wantedShard(context, requiredText(request.body, 'toShard'));
  if (context.catalog.collection(namespace) !== undefined) throw unsimulated('moveCollection of a sharded collection');
  const from = context.primaryOf(namespace);
  const facts = from?.access.collection(namespace);
  if (from === undefined || facts === undefined)
    throw new CommandError(26, 'NamespaceNotFound', `Namespace ${namespace} does not exist`);
  if (from === to) return new Map();
  await held(context, { namespace, key: trackedKey.doc, provenance: 'moveCollection' }, request);
  await from.access.transactionsDone(namespace, migration.lockWaitMs(from.id));
  await place(
    context,
    { namespace, facts, from: [from], noted: from, to, key: trackedKey },
    from.access.documents(namespace, () => true),
  );
  return new Map();
}

/**
 * `unshardCollection` (8.0): a sharded collection becomes an unsharded one under a new UUID, on the given shard or on
 * the first.
 * @throws CommandError 118 for one that is not sharded; 70 for a missing shard
 */
export async function unshardCollectionCommand(
  context: RouterContext,
  request: CommandRequest,
  migration: Migration,
): Promise<Doc> {
  const collection = context.catalog.sharded(requiredText(request.body, 'unshardCollection'));
  const { namespace, key } = collection;
  const named = request.body.get('toShard');
  const to = typeof named === 'string' ? wantedShard(context, named) : context.catalog.shards[0];
  const noted = context.catalog.shard(context.requireDatabase(databaseOf(namespace)).primary);
  const facts = context.catalog.shards
    .map((shard) => shard.access.collection(namespace))
    .find((each) => each !== undefined);
  if (facts === undefined || to === undefined)
    throw new CommandError(26, 'NamespaceNotFound', `Namespace ${namespace} does not exist`);
  await held(context, { namespace, key: trackedKey.doc, provenance: 'unshardCollection' }, request);
  for (const shard of context.catalog.shards)
    await shard.access.transactionsDone(namespace, migration.lockWaitMs(shard.id));
  const documents = ownedDocuments(context, collection);
  await context.catalog.dropCollection(namespace);
  await place(context, { namespace, facts, from: context.catalog.shards, noted, to, key }, documents);
  return new Map();
}

function wantedShard({ catalog }: RouterContext, id: string): ClusterShard {
  const shard = catalog.shards.find((each) => each.id === id);
  if (shard === undefined) throw new CommandError(70, 'ShardNotFound', `Shard ${id} not found`);
  return shard;
}

interface Move {
  readonly namespace: string;
  readonly facts: CollectionFacts;
  /** Shards that lose their part of it. */
  readonly from: readonly ClusterShard[];
  /** Shows the event. */
  readonly noted: ClusterShard;
  readonly to: ClusterShard;
  /** Its sharding until then. */
  readonly key: ShardKeyPattern;
}

/**
 * Copies documents under a new UUID, shows the event under the old one, and replaces the collection by the copy without
 * events. The event does not name the command (server source of 8.0.10: notify_sharding_event.idl).
 */
async function place(context: RouterContext, move: Move, documents: readonly Uint8Array[]): Promise<void> {
  const { namespace, facts, from, noted, to, key } = move;
  const uuid = makeUuid();
  copyAside(to, facts, uuid, documents);
  const description = doc(
    ['reshardUUID', uuid],
    ['shardKey', trackedKey.doc],
    ['oldShardKey', key.doc],
    ['unique', false],
  );
  description.set('numInitialChunks', Long.fromInt(1));
  noted.access.noteDdl(namespace, 'reshardCollection', description);
  for (const shard of from) shard.access.forgetCollection(namespace);
  to.access.renameSilently(besideOf(facts), namespace);
  const time = context.clock.tick();
  const chunks = initialChunks({
    pattern: trackedKey,
    empty: false,
    primary: to.id,
    shards: [to.id],
    zones: [],
    shardsOfZone: () => [],
    chunkCount: undefined,
    chunksPerShard: 1,
    time,
    holdsMaxKey: true,
  });
  const entry = {
    namespace,
    uuid,
    key: trackedKey,
    unique: false,
    defaultCollation: undefined,
    noBalance: false,
    timeseries: docOf(facts.options.get('timeseries')),
    chunks,
  };
  await context.catalog.saveMoved({ ...entry, epoch: new ObjectId(), timestamp: time, changedMs: Date.now() });
  context.routing.forget(namespace);
}
