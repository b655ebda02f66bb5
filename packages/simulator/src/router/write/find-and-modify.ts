import { Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, isTrue } from '../../node/doc-fields.js';
import { compileProjection } from '../../query/projection.js';
import { routerVariables } from '../read/router-variables.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { targetQuery } from '../target/query-targeting.js';
import type { RoutingPicture } from '../target/routing-table.js';
import { isStale } from '../target/stale-routing.js';
import { handedOn } from '../transaction-commands.js';
import { type FindShard, findShardFor } from './shard-of-match.js';
import { changeOwningShard, imageOf, wouldChangeOwningShard } from './owning-shard-change.js';

/**
 * `findAndModify` through a router.
 * @throws CommandError 61 when the query of a sharded collection does not hold the shard key, before 8.0
 */
export async function findAndModifyCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const picture = context.routing.picture(namespace);
  const { collection } = picture;
  let shard;
  if (collection === undefined) {
    shard = await context.routedPrimaryForWrite(namespace);
  } else {
    const target = targetQuery(collection, docOrEmpty(request.body.get('query')), request.body.get('collation'));
    const find = target.exactKey ? undefined : findShardFor(context, routerVariables(context, request));
    const only = find === undefined ? target.shards[0] : find(collection, wantedBy(request.body), target.shards);
    if ((!target.exactKey && find === undefined) || only === undefined) {
      throw new CommandError(61, 'ShardKeyNotFound', 'Query for sharded findAndModify must contain the shard key');
    }
    shard = context.catalog.shard(only);
  }
  const reply = await modify(context, request, shard, picture);
  for (const own of ['electionId', 'opTime']) reply.delete(own);
  return reply;
}

function wantedBy(body: Doc): Parameters<FindShard>[1] {
  return { filter: docOrEmpty(body.get('query')), sort: docOf(body.get('sort')), collation: body.get('collation') };
}

/** A document that the change moves to another shard is moved there. */
async function modify(
  context: RouterContext,
  request: CommandRequest,
  shard: ClusterShard,
  picture: RoutingPicture,
): Promise<Doc> {
  try {
    return await context.sender.run(shard, request, request.body, { picture });
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== wouldChangeOwningShard || picture.collection === undefined)
      throw isStale(error) || context.version.atLeast(8, 0) ? error : handedOn(context, request, error);
    await changeOwningShard(context, request, picture.collection, shard, error.extra, 1);
    return isTrue(error.extra.get('shouldUpsert'))
      ? insertedReply(request.body, error.extra)
      : movedReply(context, request, error.extra);
  }
}

function insertedReply(body: Doc, images: Doc): Doc {
  const inserted = imageOf(images, 'postImage');
  const last = doc(['n', new Int32(1)], ['updatedExisting', false], ['upserted', inserted.get('_id') ?? null]);
  return doc(['lastErrorObject', last], ['value', isTrue(body.get('new')) ? inserted : null]);
}

function movedReply(context: RouterContext, request: CommandRequest, images: Doc): Doc {
  const { body } = request;
  const shown = imageOf(images, isTrue(body.get('new')) ? 'postImage' : 'preImage');
  const fields = docOf(body.get('fields'));
  const value =
    fields === undefined || fields.size === 0
      ? shown
      : compileProjection(fields, routerVariables(context, request))(shown);
  return doc(['lastErrorObject', doc(['n', new Int32(1)], ['updatedExisting', true])], ['value', value]);
}
