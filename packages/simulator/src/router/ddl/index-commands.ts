import { documentText } from '../../bson/text.js';
import { makeUuid, uuidText } from '../../bson/uuid.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardKeyPattern } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { docOf, isTrue } from '../../node/doc-fields.js';
import { isNamed } from '../../shard/commands/indexes.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { fanOut, withOwnFields } from './fan-out.js';

/** `createIndexes` on every shard that holds the collection. Creates a missing one. */
export async function createIndexesCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const collection = context.catalog.collection(namespace);
  if (collection === undefined)
    return withOwnFields(context, await fanOut(context, request, [await context.primaryForWrite(namespace)]));
  return fanOut(context, request, context.shardsOf(collection.chunks.shards), request.body, (shard) =>
    refuseUniqueBesideKey(collection, shard, request.body),
  );
}

/** Shards refuse it during the build: an index is not about a document's shard key alone. */
function refuseUniqueBesideKey({ key, namespace, uuid }: ShardedCollection, shard: ClusterShard, body: Doc): void {
  const specs = body.get('indexes');
  for (const spec of Array.isArray(specs) ? specs : []) {
    const fields = docOf(spec)?.get('key');
    if (!(spec instanceof Map) || !isTrue(spec.get('unique')) || !(fields instanceof Map)) continue;
    const isId = fields.size === 1 && fields.has('_id');
    if (isId || (key.hashedIndex < 0 && key.isPrefixOf(fields))) continue;
    if (shard.access.collection(namespace)?.indexes.some((index) => index.get('name') === spec.get('name')) === true)
      continue;
    const unique = shard.node.version.atLeast(8, 0) ? "index with 'unique' or 'prepareUnique' option" : 'unique index';
    const shown =
      `Index build failed: ${uuidText(makeUuid().buffer)}: Collection ${namespace} ( ${uuidText(uuid.buffer)} ) ` +
      `:: caused by :: cannot create ${unique} over ${documentText(fields)} with shard key pattern ` +
      documentText(key.doc);
    throw new CommandError(67, 'CannotCreateIndex', shown);
  }
}

/** `dropIndexes` on every shard that holds the collection. */
export async function dropIndexesCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const shards = context.holdersOf(namespace);
  if (shards.length === 0) throw new CommandError(26, 'NamespaceNotFound', `ns not found ${namespace}`);
  const key = context.catalog.collection(namespace)?.key;
  const wanted = request.body.get('index');
  if (key === undefined) return withOwnFields(context, await fanOut(context, request, shards));
  if (!keepsKeyIndexes(context, key)) return fanOut(context, request, shards);
  if (wanted !== '*') {
    return fanOut(context, request, shards, request.body, (shard) =>
      refuseLastOfKey(key, shard.access.collection(namespace)?.indexes ?? [], wanted),
    );
  }
  const [, ...secondary] = shards[0]?.access.collection(namespace)?.indexes ?? [];
  const others = secondary.filter((index) => !supportsKey(index, key)).map((index) => index.get('name') ?? null);
  const reply = await fanOut(context, request, shards, new Map([...request.body, ['index', others]]));
  for (const raw of docOf(reply.get('raw'))?.values() ?? []) {
    if (!(raw instanceof Map)) continue;
    const ok = raw.get('ok') ?? null;
    if (context.version.atLeast(8, 0)) raw.delete('ok');
    raw.set('msg', 'non-_id indexes and non-shard key indexes dropped for collection').set('ok', ok);
  }
  return reply;
}

/** Shards keep at least one visible index that supports the shard key (SERVER-6491, and its test in 6.0). */
function refuseLastOfKey(key: ShardKeyPattern, indexes: readonly Doc[], wanted: Value | undefined): void {
  const dropped = Array.isArray(wanted) ? wanted : [wanted];
  const supporting = visibleOfKey(key, indexes);
  if (supporting.length === 0 || !supporting.every((spec) => dropped.some((one) => isNamed(spec, one)))) return;
  const shown = "Cannot drop the only compatible index for this collection's shard key";
  throw new CommandError(370, 'CannotDropShardKeyIndex', shown);
}

/** The visible indexes that support a shard key. */
export function visibleOfKey(key: ShardKeyPattern, indexes: readonly Doc[]): Doc[] {
  return indexes.filter((spec) => supportsKey(spec, key) && !isTrue(spec.get('hidden')));
}

/**
 * Whether `dropIndexes` keeps an index that the shard key needs. 5.0.7 does not (recorded). Later releases do unless
 * the key is hashed (manual: `dropIndexes`).
 */
function keepsKeyIndexes({ version }: RouterContext, key: ShardKeyPattern): boolean {
  return version.atLeast(6, 0) && key.hashedIndex < 0;
}

function supportsKey(spec: Doc, key: ShardKeyPattern): boolean {
  const fields = docOf(spec.get('key'));
  const isWhole = !isTrue(spec.get('sparse')) && !spec.has('partialFilterExpression') && !spec.has('collation');
  return fields !== undefined && isWhole && key.isPrefixOf(fields);
}
