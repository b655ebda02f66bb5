/** Timings of liveness, in milliseconds; on slow processes `Pace` extends the leases. */
export interface FleetTimings {
  /** Silence after which an instance's id is free and its report is stale. */
  readonly identityLease_ms: number;
  /** Interval of heartbeats without news. */
  readonly keepAlive_ms: number;
  /** Interval of heartbeats with news. */
  readonly publishGap_ms: number;
  /** Silence after which another instance takes over the leadership; the leader renews three times in this time. */
  readonly leaderLease_ms: number;
  /** How long Redis keeps the last report of a silent instance. */
  readonly reportRetention_ms: number;
  /** Time limit of one call to Redis. */
  readonly redisCall_ms: number;
  /** How long a running command may delay the leave. */
  readonly leaveWait_ms: number;
}

/**
 * An instance may lose four keep-alives before it counts as gone. 20 reports a second look fluent. A dead leader is
 * replaced within 5 s + 5 s / 3, and a report outlives a night without its instance.
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
