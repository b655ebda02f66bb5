/** An estimate of the remaining copy time, at one moment. */
export interface RemainingEstimate {
  readonly seconds: number;
  /** The smoothed rate behind it. */
  readonly bytesPerSecond: number;
  /** Milliseconds since 1970. */
  readonly at_ms: number;
  /** When the first rate was seen. */
  readonly since_ms: number;
  /** When the copy last advanced. */
  readonly advancedAt_ms: number;
}

/** After this time a new rate has replaced 63 % of the old one: smooth to read, yet current. */
const SMOOTHING_SECONDS = 30;
/** A copy that stalls for longer has no estimate. */
const STANDSTILL_SECONDS_MAX = 60;
/** Longer times only say that the copy hardly moves. */
const SECONDS_MAX = 365 * 24 * 3600;

/**
 * The next estimate: remaining bytes divided by a smoothed rate, so that a jumping rate does not make it jump. During
 * the first 30 s the rate is the mean so far: a copy starts slowly, and its first moment alone would suggest hours.
 * @param bytesLeft bytes still to copy
 * @param bytesPerSecond the current rate of the whole fleet
 * @returns null when there is no basis for an estimate
 */
export function nextEstimate(
  previous: RemainingEstimate | null,
  bytesLeft: number,
  bytesPerSecond: number,
  now_ms: number,
): RemainingEstimate | null {
  if (bytesLeft > 0 && bytesPerSecond <= 0) return standing(previous, now_ms);
  const since_ms = previous?.since_ms ?? now_ms;
  const smoothed = previous === null ? bytesPerSecond : drawnTowards(bytesPerSecond, previous, now_ms);
  const seconds = bytesLeft <= 0 ? 0 : Math.min(bytesLeft / smoothed, SECONDS_MAX);
  return { seconds, bytesPerSecond: smoothed, at_ms: now_ms, since_ms, advancedAt_ms: now_ms };
}

function drawnTowards(rate: number, { bytesPerSecond, at_ms, since_ms }: RemainingEstimate, now_ms: number): number {
  const elapsed_ms = Math.max(0, now_ms - at_ms);
  if (elapsed_ms === 0) return bytesPerSecond;
  const ofMean = elapsed_ms / (now_ms - since_ms);
  const weight = Math.max(ofMean, 1 - Math.exp(-elapsed_ms / 1000 / SMOOTHING_SECONDS));
  return bytesPerSecond + (rate - bytesPerSecond) * weight;
}

/** While the copy stalls, the estimate stays unchanged for a while. */
function standing(previous: RemainingEstimate | null, now_ms: number): RemainingEstimate | null {
  if (previous === null || now_ms - previous.advancedAt_ms > STANDSTILL_SECONDS_MAX * 1000) return null;
  return { ...previous, at_ms: now_ms };
}
