import type { Warning } from '@convoy/api/contract/progress';
import { type CatchUp, nextCatchUp, steadyLagMax_seconds } from './catch-up.js';
import type { TaskStats } from './task-stats.js';

/** A new partition waits while the stream is read further behind the source than this. */
export const readBehindMax_seconds = 60;

/** What the lag figures of an instance are made of, at one moment. */
export interface LagInput {
  /** Of a monotonic clock. */
  at_ms: number;
  /** Of each own share; empty while none runs, as in a pause. */
  stats: readonly Pick<TaskStats, 'lag_seconds' | 'readLag_seconds' | 'followsStream' | 'copyDone'>[];
  /** Time of the source, and time below which all its definition changes are known, in seconds since 1970; null while unknown. */
  sourceTime_seconds: number | null;
  ddlWatermark_seconds: number | null;
  /** Definition changes that are known, and those that are applied: largest ordinals. */
  ddlChanges: { known: number; done: number };
  /** Seconds until what is still to be applied would be lost from an oplog; null when that cannot be told. */
  oplogRemaining_seconds: number | null;
}

/** The lag figures of an instance; null where something is not known. */
export interface LagStats {
  /** Behind by what is not looked through for changes of definitions yet, or by the change that waits to be applied. */
  ddlLag_seconds: number | null;
  /** Whole seconds until what is applied will have caught up; null during the copy and while the lag does not shrink. */
  catchUp_seconds: number | null;
  warnings: Warning[];
}

const oplogShort_seconds = 3600;
/** A lag that has not shrunk for so long is worth a warning. */
const standing_ms = 60_000;
/** A warning ends only when its figure is so many times better than where it began: it does not come and go. */
const idle = 2;

/** Follows the lag of one instance: what is said of it at one moment depends on the moments before. */
export class LagTracker {
  #catchUp: CatchUp | null = null;
  #undone: { done: number; since_seconds: number } | null = null;
  #standingSince_ms: number | null = null;
  #isReadBehind = false;
  #isOplogShort = false;

  /** Takes the present state of things and says what follows from it and from those before. */
  take(input: LagInput): LagStats {
    const { stats } = input;
    const follows = stats.length > 0 && stats.every(({ followsStream }) => followsStream);
    const crudLag_seconds = stats.length === 0 ? null : Math.max(...stats.map(({ lag_seconds }) => lag_seconds));
    const applies = follows && stats.every(({ copyDone }) => copyDone);
    this.#catchUp =
      applies && crudLag_seconds !== null ? nextCatchUp(this.#catchUp, crudLag_seconds, input.at_ms) : null;
    const seconds = this.#catchUp?.seconds ?? null;
    return {
      ddlLag_seconds: this.#ddlLag(input),
      catchUp_seconds: seconds === null ? null : Math.round(seconds),
      warnings: [
        ...this.#readWarning(input),
        ...this.#standingWarning(input, crudLag_seconds),
        ...this.#oplogWarning(input),
      ],
    };
  }

  #ddlLag({ sourceTime_seconds, ddlWatermark_seconds, ddlChanges: { known, done } }: LagInput): number | null {
    if (sourceTime_seconds === null || ddlWatermark_seconds === null) return null;
    if (known <= done) this.#undone = null;
    else if (this.#undone?.done !== done) this.#undone = { done, since_seconds: sourceTime_seconds };
    const below_seconds = Math.min(ddlWatermark_seconds, this.#undone?.since_seconds ?? ddlWatermark_seconds);
    return Math.max(0, sourceTime_seconds - below_seconds);
  }

  #readWarning({ stats }: LagInput): Warning[] {
    const behind = Math.max(0, ...stats.map(({ readLag_seconds }) => readLag_seconds));
    this.#isReadBehind = behind > (this.#isReadBehind ? readBehindMax_seconds / idle : readBehindMax_seconds);
    if (!this.#isReadBehind) return [];
    return [
      {
        name: 'streamFarBehind',
        description: `The change stream is read more than ${readBehindMax_seconds} s behind the source: no new part of a collection is copied until it is near. Give the destination more room, or write less to the source.`,
      },
    ];
  }

  /** Once a lag that does not shrink was told of, it is until it shrinks or is gone. */
  #standingWarning({ at_ms }: LagInput, lag_seconds: number | null): Warning[] {
    const stands =
      this.#catchUp !== null && this.#catchUp.seconds === null && (lag_seconds ?? 0) > steadyLagMax_seconds;
    this.#standingSince_ms = stands ? (this.#standingSince_ms ?? at_ms) : null;
    if (this.#standingSince_ms === null || at_ms - this.#standingSince_ms < standing_ms) return [];
    return [
      {
        name: 'notCatchingUp',
        description:
          'Changes of the source come as fast as they can be applied, or faster: the lag does not shrink. Give the destination more room, raise lanes, or write less to the source.',
      },
    ];
  }

  #oplogWarning({ oplogRemaining_seconds }: LagInput): Warning[] {
    const remaining = oplogRemaining_seconds ?? Infinity;
    this.#isOplogShort = remaining < (this.#isOplogShort ? oplogShort_seconds * idle : oplogShort_seconds);
    if (!this.#isOplogShort) return [];
    return [
      {
        name: 'oplogRunningOut',
        description: `Less than ${oplogShort_seconds / 60} minutes are left until an oplog of the source forgets what is still to be applied, if nothing were applied meanwhile. Resume or relieve the migration, or enlarge the oplog with replSetResizeOplog.`,
      },
    ];
  }
}
