/** Cost of one copy of a case. */
export interface CopyResult {
  /** From the first read to the last acknowledgement. */
  seconds: number;
  /** CPU time of the copying processes in that time. */
  cpu_seconds: number;
  /** The highest resident memory of one of them. */
  peakMemoryBytes: number;
}

/** The engine's result; the base fields concern only the copy. */
export interface EngineResult extends CopyResult {
  /** From the start request to the first read. */
  initialisation_seconds: number;
  initialisationCpu_seconds: number;
}
