import { Long } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, numberOf } from '../../node/doc-fields.js';
import { compilePipeline } from '../../pipeline/stages.js';
import type { RouterContext } from '../router-context.js';
import { firstBatchDefault } from './batch-size.js';
import { ListCursor } from './list-cursor.js';
import { routerVariables } from './router-variables.js';

const stageName = '$shardedDataDistribution';

/** True for a pipeline that starts with `$shardedDataDistribution`, which routers have since 6.0.3. */
export function asksDataDistribution(context: RouterContext, pipeline: readonly Doc[]): boolean {
  return context.version.atLeast(6, 0) && pipeline[0]?.has(stageName) === true;
}

/**
 * A pipeline over the number of documents and bytes that each shard has of each sharded collection, owned and orphaned.
 * @throws CommandError 6789102 outside of the `admin` database or on a collection
 */
export async function dataDistributionCommand(
  context: RouterContext,
  request: CommandRequest,
  pipeline: readonly Doc[],
): Promise<Doc> {
  const run = compilePipeline(pipeline.slice(1), routerVariables(context, request));
  const list = new ListCursor('admin.$cmd.aggregate', [...run(dataDistribution(context, request))]);
  const batchSize = numberOf(docOf(request.body.get('cursor'))?.get('batchSize')) ?? firstBatchDefault;
  return context.cursors.first(list, await list.next(batchSize), false, request);
}

function dataDistribution(context: RouterContext, request: CommandRequest): Doc[] {
  if (request.db !== 'admin' || typeof request.body.get('aggregate') === 'string') {
    throw new CommandError(
      6789102,
      'Location6789102',
      `${stageName} must be run against the 'admin' database with {aggregate: 1}`,
    );
  }
  return context.catalog.collections.map((collection) => {
    const holders = context.catalog.shards.filter(
      (shard) => collection.chunks.shards.includes(shard.id) || holdsDocuments(shard, collection),
    );
    return doc(['ns', collection.namespace], ['shards', holders.map((shard) => fraction(shard, collection))]);
  });
}

function holdsDocuments(shard: ClusterShard, { namespace }: ShardedCollection): boolean {
  return (shard.access.collection(namespace)?.documentCount ?? 0) > 0;
}

function fraction(shard: ClusterShard, { namespace, key, chunks }: ShardedCollection): Doc {
  const owned = { count: 0, bytes: 0 };
  const orphaned = { count: 0, bytes: 0 };
  for (const document of shard.access.documents(namespace, () => true)) {
    const part = chunks.holderOf(key.keyOf(document)) === shard.id ? owned : orphaned;
    part.count += 1;
    part.bytes += document.length;
  }
  return doc(
    ['shardName', shard.id],
    ['numOrphanedDocs', Long.fromNumber(orphaned.count)],
    ['numOwnedDocuments', Long.fromNumber(owned.count)],
    ['ownedSizeBytes', Long.fromNumber(owned.bytes)],
    ['orphanedSizeBytes', Long.fromNumber(orphaned.bytes)],
  );
}
