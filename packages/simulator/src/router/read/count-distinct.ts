import { Int32 } from 'bson';
import { parseCollation } from '../../bson/collation.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, numberOf } from '../../node/doc-fields.js';
import { ReadConcernRefused } from '../../node/read-concern-refused.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { compileMatcher } from '../../query/matcher.js';
import { sortedDistinct } from '../../query/distinct-values.js';
import { routerVariables } from './router-variables.js';
import { countOverView, distinctOverView } from './view-reads.js';
import { resolveShardedView } from './views.js';
import { targetQuery } from '../target/query-targeting.js';
import { isStale } from '../target/stale-routing.js';

/** `count` through a router: the sum over the shards. */
export async function countCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const concern = docOf(request.body.get('readConcern'));
  if (concern?.get('level') === 'snapshot') {
    const shown = '{ readConcern: { level: "snapshot", provenance: "clientSupplied" } }';
    throw new ReadConcernRefused(
      `Command count does not support ${shown} :: caused by :: read concern snapshot not supported`,
    );
  }
  const picture = context.routing.picture(namespace);
  const { collection } = picture;
  if (collection === undefined && resolveShardedView(context, namespace) !== undefined)
    return countOverView(context, request, namespace);
  const skip = numberOf(request.body.get('skip')) ?? 0;
  const limit = Math.abs(numberOf(request.body.get('limit')) ?? 0);
  const body = new Map(request.body);
  body.delete('skip');
  if (limit > 0) body.set('limit', new Int32(limit + skip));
  const shards: Doc = new Map();
  let total = 0;
  for (const shard of countedShards(context, request, namespace)) {
    const n =
      numberOf(
        (
          await context.sender.run(shard, request, body, { picture }).catch((error: unknown) => refuseOf(shard, error))
        ).get('n'),
      ) ?? 0;
    shards.set(shard.id, new Int32(n));
    total += n;
  }
  const beyondSkip = Math.max(0, total - skip);
  return doc(['shards', shards], ['n', new Int32(limit > 0 ? Math.min(limit, beyondSkip) : beyondSkip)]);
}

/** A shard's refusal as a counting router passes it on. */
function refuseOf({ id }: ClusterShard, error: unknown): never {
  if (!(error instanceof CommandError) || isStale(error)) throw error;
  throw new CommandError(
    error.code,
    error.codeName,
    `failed on: ${id} :: caused by :: ${error.message}`,
    error.labels,
    error.extra,
  );
}

function countedShards(context: RouterContext, request: CommandRequest, namespace: string): readonly ClusterShard[] {
  const { collection } = context.routing.picture(namespace);
  const query = docOrEmpty(request.body.get('query'));
  if (collection !== undefined) {
    compileMatcher(query, undefined, routerVariables(context, request));
    return context.shardsOf(targetQuery(collection, query, request.body.get('collation')).shards);
  }
  const primary = context.routedPrimaryOf(namespace);
  return primary === undefined ? [] : [primary];
}

/** `distinct` through a router: the values of all shards, each once, in order. */
export async function distinctCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const picture = context.routing.picture(namespace);
  const { collection } = picture;
  if (collection === undefined) {
    if (resolveShardedView(context, namespace) !== undefined) return distinctOverView(context, request, namespace);
    const primary = context.routedPrimaryOf(namespace);
    if (primary === undefined) throw new CommandError(26, 'NamespaceNotFound', `database ${request.db} not found`);
    return context.sender.run(primary, request, request.body, { picture });
  }
  const target = targetQuery(collection, docOrEmpty(request.body.get('query')), request.body.get('collation'));
  const all: Value[] = [];
  const replies = await context.sender.runOnEach(context.shardsOf(target.shards), request, request.body, { picture });
  for (const reply of replies) {
    const values = reply.get('values');
    if (Array.isArray(values)) all.push(...values);
  }
  const collation = docOf(request.body.get('collation')) ?? collection.defaultCollation;
  return doc(['values', sortedDistinct(all, collation === undefined ? undefined : parseCollation(collation))]);
}
