import type { Doc } from '../../bson/value.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { isTrue, numberOf, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';
import { mergeChunks } from './chunk-changes.js';
import { mergeableRuns } from './mergeable-chunks.js';

const bytesPerMegabyte = 1024 * 1024;
/** Largest size of a range that may be set, in megabytes (manual: `configureCollectionBalancing`). */
const chunkMegabytesMax = 1024;

/**
 * `configureCollectionBalancing`: a collection's own size of ranges, whether its chunks are merged automatically, and
 * defragmentation, which is immediate here.
 * @throws CommandError 2 for a size below 1 MB or above 1 GB; 118 for a collection that is not sharded
 */
export async function configureCollectionBalancing(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const { body } = request;
  const namespace = requiredText(body, 'configureCollectionBalancing');
  const collection = context.catalog.sharded(namespace);
  const balancing = { ...collection.balancing, ...sizeOf(body), ...mergingOf(body) };
  await context.catalog.saveCollection({ ...collection, balancing });
  if (isTrue(body.get('defragmentCollection'))) await defragment(context, namespace);
  return new Map();
}

function sizeOf(body: Doc): ShardedCollection['balancing'] {
  const megabytes = numberOf(body.get('chunkSize'));
  if (megabytes === undefined) return {};
  if (megabytes === 0) return { chunkBytesMax: undefined };
  if (megabytes < 1 || megabytes > chunkMegabytesMax)
    throw new CommandError(2, 'BadValue', `invalid chunk size: ${megabytes}. The size must be between 1MB and 1GB`);
  return { chunkBytesMax: megabytes * bytesPerMegabyte };
}

function mergingOf(body: Doc): ShardedCollection['balancing'] {
  return body.has('enableAutoMerger') ? { mergesAutomatically: isTrue(body.get('enableAutoMerger')) } : {};
}

/** Merges adjacent chunks on every shard. */
async function defragment({ catalog, clock }: RouterContext, namespace: string): Promise<void> {
  for (const shard of catalog.sharded(namespace).chunks.shards) {
    for (const run of mergeableRuns(catalog.sharded(namespace), shard, clock.current())) {
      await mergeChunks(catalog, catalog.sharded(namespace), run);
    }
  }
}
