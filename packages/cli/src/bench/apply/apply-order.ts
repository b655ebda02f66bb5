import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

/** What a process of ready-made writes is told to do, as JSON in its argument. */
export interface ApplyOrder {
  /** To the router of the cluster that is written to. */
  target: string;
  workload: ApplyWorkload;
  form: BatchForm;
  /** Upper bound for all lanes together; as fast as it goes when left out. */
  operationsPerSecond?: number;
}

/** What writing a workload took, or applying its events. */
export interface ApplyResult {
  /** From the first write, or from the go, to the last acknowledgement, or to the checkpoint after the last event. */
  seconds: number;
  /** CPU time of the writing or applying processes meanwhile. */
  cpu_seconds: number;
  /** The highest resident memory of one of them. */
  peakMemoryBytes: number;
}

/** A run with what its servers have used, too. */
export interface ApplyMeasured extends ApplyResult {
  /** CPU time of the busiest process of all, servers included: no number of processors makes the run shorter. Null where servers cannot be looked at. */
  busiest_seconds: number | null;
}
