import type { BenchCollection } from './bench-documents.js';

/** How many things a loop does at once. */
export interface LoopConcurrency {
  /** Ranges of `_id` that are read at once from each shard. */
  readersPerShard: number;
  /** Insert commands in flight for each range. */
  writesPerReader: number;
}

/** What a loop process is told to do, as JSON in its argument. */
export interface LoopOrder {
  /** To the routers. */
  source: string;
  destination: string;
  /** Straight to each shard of the source. */
  sourceShards: string[];
  /** Documents as bytes through the engine's door, or decoded by the driver's public API. */
  use: 'raw' | 'decoded';
  collection: BenchCollection;
  concurrency: LoopConcurrency;
}

/** Documents of one batch and of one insert command; a reply also ends at 16 MB. */
export const loopBatchDocuments = 1_000;

/** Bounds of the ranges of whole numbers that one shard's readers take. */
export function rangesOf(documents: number, readers: number): [min: number, max: number][] {
  const bound = (index: number) => Math.floor((documents * index) / readers);
  return Array.from({ length: readers }, (_, index): [number, number] => [bound(index), bound(index + 1)]);
}
