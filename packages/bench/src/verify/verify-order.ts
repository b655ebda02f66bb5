import type { BenchCollection } from '../copy/bench-documents.js';
import type { RunUsage } from '../process-usage.js';

/** The order of a comparing process, as JSON in its argument. */
export interface VerifyOrder {
  /** Connection strings of the routers. */
  source: string;
  destination: string;
  /** The bare loop, or the verifier with its state. */
  use: 'loop' | 'verifier';
  collection: BenchCollection;
  /** Concurrently compared ranges. */
  readers: number;
  /** Folder of the verifier's state. */
  stateFolder: string;
}

/** Output of a comparing process. */
export interface VerifyResult extends RunUsage {
  /** Number of differing documents. */
  mismatches: number;
  /** The verifier's time for reading the catalogs, before and after; 0 for the loop. */
  catalogs_seconds: number;
  catalogsCpu_seconds: number;
}
