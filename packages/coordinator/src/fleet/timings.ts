/** The times that liveness is decided by, in milliseconds; where processes are slow, `Pace` makes the leases longer. */
export interface FleetTimings {
  /** How long an instance may be silent before its id is free and its report counts as old. */
  readonly identityLease_ms: number;
  /** Pause between two heartbeats without news. */
  readonly keepAlive_ms: number;
  /** Pause between two heartbeats with news. */
  readonly publishGap_ms: number;
  /** How long a leader may be silent before another takes over; it renews three times in this time. */
  readonly leaderLease_ms: number;
  /** How long the last report of a silent instance is kept in Redis. */
  readonly reportRetention_ms: number;
  /** How long one call to Redis may take. */
  readonly redisCall_ms: number;
  /** How long a command that is being handled may hold up the leave. */
  readonly leaveWait_ms: number;
}

/**
 * A keep-alive may be lost four times before an instance counts as gone, 20 reports a second look fluent to the eye,
 * a leader that dies is replaced within 5 s + 5 s / 3, and a report outlives a night without its instance.
 */
export const fleetTimingsDefault: FleetTimings = {
  identityLease_ms: 5_000,
  keepAlive_ms: 1_000,
  publishGap_ms: 50,
  leaderLease_ms: 5_000,
  reportRetention_ms: 24 * 3_600_000,
  redisCall_ms: 3_000,
  leaveWait_ms: 5_000,
};
