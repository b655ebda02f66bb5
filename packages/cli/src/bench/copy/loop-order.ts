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
  /** Direct connection strings of the source's shards. */
  sourceShards: string[];
  /** Documents as bytes through the engine's client, or decoded by the driver's public API. */
  use: 'raw' | 'decoded';
  collection: BenchCollection;
  concurrency: LoopConcurrency;
}

/** Documents per batch and per insert command; a reply also ends at 16 MB. */
export const loopBatchDocuments = 1_000;

/** Bounds of the ranges of whole numbers for one shard's readers. */
export function rangesOf(documents: number, readers: number): [min: number, max: number][] {
  const bound = (index: number) => Math.floor((documents * index) / readers);
  return Array.from({ length: readers }, (_, index): [number, number] => [bound(index), bound(index + 1)]);
}
