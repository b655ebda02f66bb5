import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { docOrEmpty } from '../../node/doc-fields.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { targetQuery } from '../target/query-targeting.js';

/**
 * `findAndModify` through a router.
 * @throws CommandError 61 when the query of a sharded collection does not hold the shard key
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
    const [only] = target.shards;
    if (!target.exactKey || only === undefined) {
      throw new CommandError(61, 'ShardKeyNotFound', 'Query for sharded findAndModify must contain the shard key');
    }
    shard = context.catalog.shard(only);
  }
  const reply = await context.sender.run(shard, request, request.body, { picture });
  for (const own of ['electionId', 'opTime']) reply.delete(own);
  return reply;
}
