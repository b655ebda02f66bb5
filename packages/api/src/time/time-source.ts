/** Source of time. Durations and leases use only the monotonic clock, which date corrections do not move. */
export interface TimeSource {
  /** Wall clock, milliseconds since 1970: for display and history, never for decisions about data. */
  now_ms(): number;
  /** Milliseconds since a fixed moment of this process. */
  monotonic_ms(): number;
}

/** The host's clocks. */
export const systemTime: TimeSource = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
};
