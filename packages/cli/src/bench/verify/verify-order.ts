import type { BenchCollection } from '../copy/bench-documents.js';

/** What a comparing process is told to do, as JSON in its argument. */
export interface VerifyOrder {
  /** To the routers. */
  source: string;
  destination: string;
  /** The bare loop, or the verifier with its state. */
  use: 'loop' | 'verifier';
  collection: BenchCollection;
  /** Ranges that are compared at once. */
  readers: number;
  /** Where the verifier keeps its state. */
  stateFolder: string;
}

/** What a comparing process prints. */
export interface VerifyResult {
  seconds: number;
  cpu_seconds: number;
  peakMemoryBytes: number;
  /** Documents that differ. */
  mismatches: number;
  /** What the verifier takes besides for reading the catalogs, before and after; 0 for the loop. */
  catalogs_seconds: number;
  catalogsCpu_seconds: number;
}
