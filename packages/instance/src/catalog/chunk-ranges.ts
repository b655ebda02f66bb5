import type { Chunk } from './namespace.js';

/** Joins adjacent chunks of one owner: what remains says who owns what, however the chunks are cut. */
export function ownershipRanges(chunks: readonly Chunk[]): Chunk[] {
  const ranges: Chunk[] = [];
  for (const chunk of chunks) {
    const last = ranges.at(-1);
    if (last?.shard === chunk.shard && Buffer.compare(last.max, chunk.min) === 0) last.max = chunk.max;
    else ranges.push({ ...chunk });
  }
  return ranges;
}
