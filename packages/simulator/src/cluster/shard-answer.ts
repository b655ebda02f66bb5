import { setTimeout as delay } from 'node:timers/promises';
import type { Doc } from '../bson/value.js';
import type { ShardingCatalog } from '../config/sharding-catalog.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, numberOf, requiredText } from '../node/doc-fields.js';
import type { RangeDeletions } from '../router/sharding/range-deletions.js';

/** Longest wait of one `cleanupOrphaned` when the client sets no `maxTimeMS`. */
const cleanupWaitMsMax = 3_600_000;

/** Commands of a shard about its place in the cluster. Undefined for all others. */
export function shardAnswer(
  catalog: ShardingCatalog,
  ranges: RangeDeletions,
  shardId: string,
  request: CommandRequest,
): Promise<Doc> | undefined {
  if (request.name === 'flushRouterConfig') return Promise.resolve(doc(['flushed', true]));
  if (request.name === 'cleanupOrphaned') return cleanupOrphaned(catalog, ranges, shardId, request);
  return undefined;
}

/** Waits until the shard has cleaned up the ranges of a collection that it has given away. */
async function cleanupOrphaned(
  catalog: ShardingCatalog,
  ranges: RangeDeletions,
  shardId: string,
  request: CommandRequest,
): Promise<Doc> {
  const namespace = requiredText(request.body, 'cleanupOrphaned');
  const waitMs = numberOf(request.body.get('maxTimeMS')) ?? cleanupWaitMsMax;
  const done = new AbortController();
  const limit = delay(waitMs, 'late' as const, {
    signal: AbortSignal.any([done.signal, request.signal]),
    ref: false,
  }).catch(() => 'late' as const);
  const first = await Promise.race([
    ranges.wait(catalog.shard(shardId), namespace).then(() => 'clean' as const),
    limit,
  ]);
  done.abort();
  if (first === 'late') throw new CommandError(50, 'MaxTimeMSExpired', 'operation exceeded time limit');
  return new Map();
}
