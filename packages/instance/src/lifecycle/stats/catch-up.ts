import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';

/** The lag at one moment. */
interface LagSample {
  readonly at_ms: number;
  readonly lag_seconds: number;
}

/** An estimate of when the lag reaches its steady limit, with the state that the next estimate needs. */
export interface CatchUp {
  /** Null while the lag does not shrink. */
  readonly seconds: number | null;
  readonly at_ms: number;
  readonly samples: readonly LagSample[];
}

/** The speed is an average over this window; lags are whole seconds. */
const window_ms = 30_000;
const sample_ms = 1_000;
/** Shorter windows give no estimate. */
const judgedMin_ms = 5_000;
/**
 * Seconds of lag per second. Below this speed there is no estimate: catching up would take more than 100 times the lag.
 */
const speedMin = 0.01;
/** After this time, a new speed replaces 63 % of the old estimate. */
const smoothing_seconds = 15;

/**
 * The next estimate. It counts the previous one down by the elapsed time and moves it towards the estimate of the
 * present speed. So a jump in speed does not make the estimate jump.
 * @param lag_seconds the present lag
 * @param at_ms the present moment of a monotonic clock
 */
export function nextCatchUp(previous: CatchUp | null, lag_seconds: number, at_ms: number): CatchUp {
  const samples = withSample(previous?.samples ?? [], { lag_seconds, at_ms });
  if (lag_seconds <= steadyLagMax_seconds) return { seconds: 0, at_ms, samples };
  const measured = measured_seconds(samples, lag_seconds, at_ms);
  if (measured === null || previous === null || previous.seconds === null || previous.seconds === 0)
    return { seconds: measured, at_ms, samples };
  const elapsed_seconds = Math.max(0, at_ms - previous.at_ms) / 1000;
  const expected = Math.max(0, previous.seconds - elapsed_seconds);
  const weight = 1 - Math.exp(-elapsed_seconds / smoothing_seconds);
  return { seconds: expected + (measured - expected) * weight, at_ms, samples };
}

function withSample(samples: readonly LagSample[], sample: LagSample): LagSample[] {
  const last = samples.at(-1);
  const all = last !== undefined && sample.at_ms - last.at_ms < sample_ms ? [...samples] : [...samples, sample];
  return all.filter(({ at_ms }) => at_ms >= sample.at_ms - window_ms);
}

function measured_seconds(samples: readonly LagSample[], lag_seconds: number, at_ms: number): number | null {
  const first = samples[0];
  if (first === undefined || at_ms - first.at_ms < judgedMin_ms) return null;
  const speed = (first.lag_seconds - lag_seconds) / ((at_ms - first.at_ms) / 1000);
  return speed < speedMin ? null : lag_seconds / speed;
}
