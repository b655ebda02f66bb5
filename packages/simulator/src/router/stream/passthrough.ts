import { Int32, Long } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, textOrEmpty } from '../../node/doc-fields.js';
import { unknownField } from '../../node/unknown-field.js';
import { collectionOf } from '../../node/namespace.js';
import type { Batch, RouterCursor } from '../read/router-cursors.js';
import type { RouterContext } from '../router-context.js';

/** The option of `aggregate` by which a router passes on a change stream of one shard unchanged. Since 6.0. */
export const PASSTHROUGH_FIELD = '$_passthroughToShard';

/**
 * `aggregate` with `$_passthroughToShard`: the change stream of one shard, unchanged.
 * @throws CommandError 40415 before 6.0, 6273801 without `$changeStream`, 6273803 for the config server, 70 for an
 * unknown shard
 */
export async function passthroughCommand(
  context: RouterContext,
  request: CommandRequest,
  pipeline: readonly Doc[],
): Promise<Doc> {
  if (!context.version.atLeast(6)) throw unknownField(`aggregate.${PASSTHROUGH_FIELD}`);
  const id = shardId(request.body);
  if (pipeline[0]?.has('$changeStream') !== true) {
    throw new CommandError(6273801, 'Location6273801', 'per shard cursor pipeline must contain $changeStream');
  }
  if (id === 'config') {
    throw new CommandError(
      6273803,
      'Location6273803',
      '$_passthroughToShard not supported for queries against config replica set',
    );
  }
  const shard = context.catalog.shard(id);
  const body = new Map(request.body);
  body.delete(PASSTHROUGH_FIELD);
  const reply = docOrEmpty((await context.sender.run(shard, request, body)).get('cursor'));
  const cursor = new PassthroughCursor(context, shard, reply);
  return context.cursors.first(cursor, batchOf(reply, 'firstBatch'), false, request);
}

function shardId(body: Doc): string {
  const options = body.get(PASSTHROUGH_FIELD);
  const shard = options instanceof Map ? options.get('shard') : undefined;
  if (typeof shard === 'string') return shard;
  throw new CommandError(
    40414,
    'Location40414',
    `BSON field 'aggregate.${PASSTHROUGH_FIELD}.shard' is missing but a required field`,
  );
}

/** A change stream of one shard that a router passes on. */
class PassthroughCursor implements RouterCursor {
  readonly awaitsData = true;
  readonly namespace: string;
  readonly #id: Long;

  constructor(
    private readonly context: RouterContext,
    private readonly shard: ClusterShard,
    cursor: Doc,
  ) {
    this.namespace = textOrEmpty(cursor.get('ns'));
    this.#id = idOf(cursor);
  }

  async next(batchSize: number | undefined, request: CommandRequest): Promise<Batch> {
    const body = doc(['getMore', this.#id], ['collection', collectionOf(this.namespace)]);
    if (batchSize !== undefined) body.set('batchSize', new Int32(batchSize));
    const maxTime = request.body.get('maxTimeMS');
    if (maxTime !== undefined) body.set('maxTimeMS', maxTime);
    return batchOf(docOrEmpty((await this.context.sender.run(this.shard, request, body)).get('cursor')), 'nextBatch');
  }

  async close(request: CommandRequest): Promise<void> {
    const body = doc(['killCursors', collectionOf(this.namespace)], ['cursors', [this.#id]]);
    await this.context.sender.run(this.shard, request, body);
  }
}

function batchOf(cursor: Doc, name: 'firstBatch' | 'nextBatch'): Batch {
  const documents = cursor.get(name);
  const token = cursor.get('postBatchResumeToken');
  return {
    documents: Array.isArray(documents) ? documents : [],
    exhausted: idOf(cursor).isZero(),
    postBatchResumeToken: token instanceof Map ? token : undefined,
  };
}

function idOf(cursor: Doc): Long {
  const id = cursor.get('id');
  return id instanceof Long ? id : Long.ZERO;
}
