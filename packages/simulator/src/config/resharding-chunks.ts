import { ObjectId, Timestamp } from 'bson';
import { type Chunk, ChunkMap } from './chunk-map.js';
import { compareKeys, type KeyValues, type ShardKeyPattern } from './shard-key.js';

/**
 * Chunks of about equally many documents each, neighbours on the same shard.
 * @param keys shard keys of all documents, in any order
 * @param count chunks at most; fewer when there are fewer different keys
 */
export function evenChunks(
  pattern: ShardKeyPattern,
  keys: readonly KeyValues[],
  count: number,
  shards: readonly string[],
  time: Timestamp,
  holdsMaxKey = false,
): ChunkMap {
  const bounds = splitPoints(keys, Math.max(count, 1)).filter((bound) => compareKeys(bound, pattern.globalMin) > 0);
  const edges = [pattern.globalMin, ...bounds, pattern.globalMax];
  const chunks = edges.slice(0, -1).map((min, index): Chunk => {
    const shard = shards[Math.floor((index * shards.length) / (edges.length - 1))] ?? '';
    return {
      id: new ObjectId(),
      min,
      max: edges[index + 1] ?? pattern.globalMax,
      shard,
      version: new Timestamp({ t: 1, i: index }),
      history: [{ shard, validAfter: time }],
    };
  });
  return new ChunkMap(chunks, holdsMaxKey);
}

/** Different keys that divide the sorted ones into `count` parts. */
function splitPoints(keys: readonly KeyValues[], count: number): KeyValues[] {
  const sorted = [...keys].sort(compareKeys);
  const points: KeyValues[] = [];
  for (let part = 1; part < count; part += 1) {
    const key = sorted[Math.floor((part * sorted.length) / count)];
    const last = points[points.length - 1] ?? sorted[0];
    if (key !== undefined && last !== undefined && compareKeys(key, last) > 0) points.push(key);
  }
  return points;
}
