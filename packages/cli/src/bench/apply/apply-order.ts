import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

/** The order of a process for ready-made writes, as JSON in its argument. */
export interface ApplyOrder {
  /** Connection string of the router to write to. */
  target: string;
  workload: ApplyWorkload;
  form: BatchForm;
  /** Maximum rate of all workers together; unlimited when left out. */
  operationsPerSecond?: number;
}

/** Cost of writing a workload, or of applying its events. */
export interface ApplyResult {
  /**
   * From the first write, or the start signal, to the last acknowledgement, or to the checkpoint after the last event.
   */
  seconds: number;
  /** CPU time of the writing or applying processes in that time. */
  cpu_seconds: number;
  /** The highest resident memory of one of them. */
  peakMemoryBytes: number;
}

/** A run including its servers' usage. */
export interface ApplyMeasured extends ApplyResult {
  /**
   * CPU time of the busiest process, including servers: more processors cannot make the run shorter. Null for servers
   * that cannot be measured.
   */
  busiest_seconds: number | null;
}
