import { ObjectId } from 'bson';
import type { Doc } from '../../bson/value.js';
import { compareKeys, ShardKeyPattern } from '../../config/shard-key.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, requiredText } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { documentText } from '../../bson/text.js';
import type { RouterContext } from '../router-context.js';
import { refuseIndexes } from './shard-collection.js';

/**
 * `refineCollectionShardKey`: appends fields to a shard key.
 * @throws CommandError 72 when the new key's fields do not extend those of the old one, or its indexes do not serve it
 */
export async function refineShardKeyCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'refineCollectionShardKey');
  const isMissing = context.holdersOf(namespace).every((shard) => shard.access.collection(namespace) === undefined);
  if (context.version.atLeast(8, 0) && isMissing)
    throw new CommandError(
      26,
      'NamespaceNotFound',
      `RefineCollectionShardKey: collection ${namespace} does not exists`,
    );
  const collection = context.catalog.sharded(namespace);
  const key = ShardKeyPattern.parse(docOrEmpty(request.body.get('key')));
  if (key.equals(collection.key)) return new Map();
  if (!collection.key.fields.every((field, at) => field === key.fields[at])) {
    throw new CommandError(
      72,
      'InvalidOptions',
      `refineCollectionShardKey shard key ${documentText(key.doc)} does not extend the current shard key ` +
        documentText(collection.key.doc),
    );
  }
  const holder = context.catalog.shard(collection.chunks.shards[0] ?? '');
  const facts = holder.access.collection(collection.namespace);
  if (facts !== undefined) refuseIndexes(facts, key, { isSharded: true, unique: false });
  const timestamp = context.clock.tick();
  const width = collection.key.fields.length;
  const chunks = collection.chunks.chunks.map((chunk) => ({
    ...chunk,
    min: [...chunk.min, ...key.globalMin.slice(width)],
    max:
      compareKeys(chunk.max, collection.key.globalMax) === 0
        ? key.globalMax
        : [...chunk.max, ...key.globalMin.slice(width)],
  }));
  await context.catalog.saveCollection({
    ...collection,
    key,
    chunks: collection.chunks.replaced(new Set(chunks.map((chunk) => chunk.id.toHexString())), chunks),
    epoch: new ObjectId(),
    timestamp,
    changedMs: Date.now(),
  });
  if (context.version.atLeast(6, 1)) {
    const { primary } = context.requireDatabase(databaseOf(collection.namespace));
    const description = doc(['shardKey', key.doc], ['oldShardKey', collection.key.doc]);
    context.catalog.shard(primary).access.noteDdl(collection.namespace, 'refineCollectionShardKey', description);
  }
  return new Map();
}
