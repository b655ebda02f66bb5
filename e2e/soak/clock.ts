/** The time in which a history is played: virtual, or that of everybody. */
export interface Clock {
  /** Milliseconds since it began. */
  readonly elapsed_ms: number;
  /** Resolves after so long. */
  sleep(duration_ms: number): Promise<void>;
}
