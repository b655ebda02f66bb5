import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import type { Warning } from '@convoy/api/contract/progress';
import { readBehindMax_seconds, type TaskStats } from '../task/task-stats.js';

/** Readings of one moment, from which an instance computes its lag stats. */
export interface LagReadings {
  /** Of a monotonic clock. */
  at_ms: number;
  /** Of each own task; empty while none runs, as in a pause. */
  stats: readonly Pick<TaskStats, 'lag_seconds' | 'readLag_seconds' | 'followsStream' | 'copyDone'>[];
  /** Time of the source, and its DDL watermark, in seconds since 1970; null while unknown. */
  sourceTime_seconds: number | null;
  ddlWatermark_seconds: number | null;
  /** Largest ordinals of the known and of the applied DDL changes. */
  ddlChanges: { known: number; done: number };
  /** Seconds until an oplog drops changes that are not applied yet; null while unknown. */
  oplogRemaining_seconds: number | null;
  /** The source has not answered something, which has a warning of its own: a lag is no lack of capacity. */
  isAwaitingSource?: boolean;
}

/** An instance's lag stats; null where a value is unknown. */
export interface LagStats {
  /** Lag of the DDL watcher, or of the change that waits to be applied. */
  ddlLag_seconds: number | null;
  /** Whole seconds until the lag reaches its steady limit; null during the copy and while the lag does not shrink. */
  catchUp_seconds: number | null;
  warnings: Warning[];
}

const oplogShort_seconds = 3600;
/** A lag that has not shrunk for this long causes a warning. */
const standing_ms = 60_000;
/** A warning ends only when its value is this many times better than its limit, so that it does not flap. */
const hysteresis_ratio = 2;

/** Follows the lag of one instance; the result at one moment depends on earlier ones. */
export class LagTracker {
  #catchUp: CatchUp | null = null;
  #undone: { done: number; since_seconds: number } | null = null;
  #standingSince_ms: number | null = null;
  #isReadBehind = false;
  #isOplogShort = false;

  /** Takes the present readings and returns the stats and warnings. */
  take(readings: LagReadings): LagStats {
    const { stats } = readings;
    const follows = stats.length > 0 && stats.every(({ followsStream }) => followsStream);
    const crudLag_seconds = stats.length === 0 ? null : Math.max(...stats.map(({ lag_seconds }) => lag_seconds));
    const applies = follows && stats.every(({ copyDone }) => copyDone);
    this.#catchUp =
      applies && crudLag_seconds !== null ? nextCatchUp(this.#catchUp, crudLag_seconds, readings.at_ms) : null;
    const seconds = this.#catchUp?.seconds ?? null;
    return {
      ddlLag_seconds: this.#ddlLag(readings),
      catchUp_seconds: seconds === null ? null : Math.round(seconds),
      warnings: [
        ...this.#readWarning(readings),
        ...this.#standingWarning(readings, crudLag_seconds),
        ...this.#oplogWarning(readings),
      ],
    };
  }

  #ddlLag({ sourceTime_seconds, ddlWatermark_seconds, ddlChanges: { known, done } }: LagReadings): number | null {
    if (sourceTime_seconds === null || ddlWatermark_seconds === null) return null;
    if (known <= done) this.#undone = null;
    else if (this.#undone?.done !== done) this.#undone = { done, since_seconds: sourceTime_seconds };
    const below_seconds = Math.min(ddlWatermark_seconds, this.#undone?.since_seconds ?? ddlWatermark_seconds);
    return Math.max(0, sourceTime_seconds - below_seconds);
  }

  #readWarning({ stats, isAwaitingSource = false }: LagReadings): Warning[] {
    const behind = Math.max(0, ...stats.map(({ readLag_seconds }) => readLag_seconds));
    this.#isReadBehind =
      behind > (this.#isReadBehind ? readBehindMax_seconds / hysteresis_ratio : readBehindMax_seconds);
    if (!this.#isReadBehind || isAwaitingSource) return [];
    return [
      {
        name: 'streamFarBehind',
        description:
          `Reading of the change stream is more than ${readBehindMax_seconds} s behind the source. ` +
          'No new partition is copied until it catches up. Give the destination more capacity, or reduce ' +
          'writes on the source.',
      },
    ];
  }

  /** Once a lag that does not shrink has caused a warning, the warning stays until the lag shrinks or is gone. */
  #standingWarning({ at_ms, isAwaitingSource = false }: LagReadings, lag_seconds: number | null): Warning[] {
    const stands =
      !isAwaitingSource &&
      this.#catchUp !== null &&
      this.#catchUp.seconds === null &&
      (lag_seconds ?? 0) > steadyLagMax_seconds;
    this.#standingSince_ms = stands ? (this.#standingSince_ms ?? at_ms) : null;
    if (this.#standingSince_ms === null || at_ms - this.#standingSince_ms < standing_ms) return [];
    return [
      {
        name: 'notCatchingUp',
        description:
          'The lag does not shrink: the source changes at least as fast as the instance applies. ' +
          'Give the destination more capacity, raise applyWorkers, or reduce writes on the source.',
      },
    ];
  }

  #oplogWarning({ oplogRemaining_seconds }: LagReadings): Warning[] {
    const remaining = oplogRemaining_seconds ?? Infinity;
    this.#isOplogShort = remaining < (this.#isOplogShort ? oplogShort_seconds * hysteresis_ratio : oplogShort_seconds);
    if (!this.#isOplogShort) return [];
    return [
      {
        name: 'oplogRunningOut',
        description:
          'An oplog of the source will drop changes that are not applied yet in less than ' +
          `${oplogShort_seconds / 60} minutes. Resume the migration, reduce its load, or enlarge the oplog ` +
          'with replSetResizeOplog.',
      },
    ];
  }
}

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
