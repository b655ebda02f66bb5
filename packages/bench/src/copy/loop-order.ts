/** Concurrency of a loop. */
export interface LoopConcurrency {
  /** Concurrently read ranges of `_id` per shard. */
  readersPerShard: number;
  /** Concurrent insert commands per range. */
  writesPerReader: number;
}

/** From the first `_id` to before the second. */
export type LoopRange = readonly [min: unknown, max: unknown];

/** The order of a loop process, as EJSON in its argument. */
export interface LoopOrder {
  /** Connection strings of the routers. */
  source: string;
  destination: string;
  database: string;
  collection: string;
  documents: number;
  /** Of each shard, read at once. */
  ranges: readonly LoopRange[];
  writesPerReader: number;
}

/** Bounds of the ranges of whole numbers for one shard's readers. */
export function rangesOf(documents: number, readers: number): [min: number, max: number][] {
  const bound = (index: number) => Math.floor((documents * index) / readers);
  return Array.from({ length: readers }, (_, index): [number, number] => [bound(index), bound(index + 1)]);
}
