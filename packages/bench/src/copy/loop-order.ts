import type { BenchCollection } from './bench-documents.js';

/** Concurrency of a loop. */
export interface LoopConcurrency {
  /** Concurrently read ranges of `_id` per shard. */
  readersPerShard: number;
  /** Concurrent insert commands per range. */
  writesPerReader: number;
}

/** The order of a loop process, as JSON in its argument. */
export interface LoopOrder {
  /** Connection strings of the routers. */
  source: string;
  destination: string;
  collection: BenchCollection;
  concurrency: LoopConcurrency;
}

/** Bounds of the ranges of whole numbers for one shard's readers. */
export function rangesOf(documents: number, readers: number): [min: number, max: number][] {
  const bound = (index: number) => Math.floor((documents * index) / readers);
  return Array.from({ length: readers }, (_, index): [number, number] => [bound(index), bound(index + 1)]);
}
