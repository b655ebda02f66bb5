import type { Timestamp } from 'mongodb';
import type { Chunk } from './namespace.js';

/** Joins adjacent chunks of one owner: the result shows who owns what, however the chunks are split. */
export function ownershipRanges(chunks: readonly Chunk[]): Chunk[] {
  const ranges: Chunk[] = [];
  for (const { min, max, shard } of chunks) {
    const last = ranges.at(-1);
    if (last?.shard === shard && Buffer.compare(last.max, min) === 0) last.max = max;
    else ranges.push({ min, max, shard });
  }
  return ranges;
}

/**
 * Whether a chunk moved between two reads, even if all chunks are back where they were. A move gives its chunk a
 * version with the greatest major number so far, and a new `onCurrentShardSince`. Splits and merges keep the major
 * number. Other operations that raise it (a rename, `collMod`, `clearJumboFlag`; 5.0.7 and later) keep the time.
 */
export function hasMoved(before: readonly Chunk[], after: readonly Chunk[]): boolean {
  const [version, ownedSince] = [
    greatest(before.map((chunk) => chunk.version)),
    greatest(before.map((chunk) => chunk.ownedSince)),
  ];
  // Stored by an earlier release.
  if (version === null || ownedSince === null) return false;
  return after.some(
    (chunk) => (chunk.version?.t ?? 0) > version.t && chunk.ownedSince?.greaterThan(ownedSince) !== false,
  );
}

function greatest(times: readonly (Timestamp | undefined)[]): Timestamp | null {
  return times.reduce<Timestamp | null>(
    (most, time) => (time === undefined || most?.greaterThan(time) === true ? most : time),
    null,
  );
}
