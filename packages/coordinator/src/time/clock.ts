/** Where the time is read. Leases are measured by the monotonic clock alone, which no correction of the date moves. */
export interface Clock {
  /** Milliseconds since 1970. */
  now_ms(): number;
  /** Milliseconds since any fixed moment of this process. */
  monotonic_ms(): number;
}

/** The clocks of the machine. */
export const systemClock: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
};
