/** An estimate of the time to the end of the copy, at one moment. */
export interface RemainingEstimate {
  readonly seconds: number;
  /** Milliseconds since 1970. */
  readonly at_ms: number;
  /** When the copy was seen to advance last. */
  readonly advancedAt_ms: number;
}

/** After this time a new rate has replaced 63 % of the old estimate: long enough for the eye, short enough to be true. */
const SMOOTHING_SECONDS = 30;
/** A copy that stands still for longer has no estimate. */
const STANDSTILL_SECONDS_MAX = 60;
/** Longer times say only that the copy hardly moves. */
const SECONDS_MAX = 365 * 24 * 3600;

/**
 * The next estimate: the one before, counted down by the time that has passed and drawn towards what the present rate
 * says, so that a rate that jumps does not make the estimate jump.
 * @param bytesLeft bytes still to copy
 * @param bytesPerSecond the present rate of the whole fleet
 * @returns null when nothing can be said
 */
export function nextEstimate(
  previous: RemainingEstimate | null,
  bytesLeft: number,
  bytesPerSecond: number,
  now_ms: number,
): RemainingEstimate | null {
  if (bytesLeft <= 0) return { seconds: 0, at_ms: now_ms, advancedAt_ms: now_ms };
  if (bytesPerSecond <= 0) return standing(previous, now_ms);
  const measured = Math.min(bytesLeft / bytesPerSecond, SECONDS_MAX);
  if (previous === null) return { seconds: measured, at_ms: now_ms, advancedAt_ms: now_ms };
  const elapsed = Math.max(0, now_ms - previous.at_ms) / 1000;
  const expected = Math.max(0, previous.seconds - elapsed);
  const weight = 1 - Math.exp(-elapsed / SMOOTHING_SECONDS);
  return { seconds: expected + (measured - expected) * weight, at_ms: now_ms, advancedAt_ms: now_ms };
}

/** While the copy stands still the estimate does too, for a while. */
function standing(previous: RemainingEstimate | null, now_ms: number): RemainingEstimate | null {
  if (previous === null || now_ms - previous.advancedAt_ms > STANDSTILL_SECONDS_MAX * 1000) return null;
  return { ...previous, at_ms: now_ms };
}
