/** What one copy of a case took. */
export interface CopyResult {
  /** From the first read to the last acknowledgement. */
  seconds: number;
  /** CPU time of the copying processes meanwhile. */
  cpu_seconds: number;
  /** The highest resident memory of one of them. */
  peakMemoryBytes: number;
}

/** The engine's; the base's figures are those of the copy alone. */
export interface EngineResult extends CopyResult {
  /** From the start request to the first read. */
  initialisation_seconds: number;
  initialisationCpu_seconds: number;
}
