/** Source of time. Leases use only the monotonic clock, which date corrections do not move. */
export interface Clock {
  /** Milliseconds since 1970. */
  now_ms(): number;
  /** Milliseconds since a fixed moment of this process. */
  monotonic_ms(): number;
}

/** The host's clocks. */
export const systemClock: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
};
