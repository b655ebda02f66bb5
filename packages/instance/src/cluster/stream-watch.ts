import { tokenTime } from './change-stream.js';
import { type Clock, systemClock, type Wait } from '../async/clock.js';
import { highestTime, secondsOf, timeOf } from './cluster-time.js';
import type { RawBatch } from './node-client.js';
import { Waits } from './waits.js';

/**
 * A stream that stands still for this long is opened anew. Idle shards write nothing but a no-op every 10 s
 * (`periodicNoopIntervalSecs`), and an election takes about as long.
 */
const standing_ms = 20_000;
/** The same for a stream that is far behind: a server may read much of its oplog before it shows a position. */
const standingBehind_ms = 120_000;
/** Behind the time of its cluster by more than this, a stream counts as far behind. */
const near_seconds = 60;
/** A stream that is not behind by this much does not stand still: its cluster is idle too. */
const behind_seconds = 5;
/** Part of the limit after which a stream that stands still is shown. */
const shown_ratio = 0.6;

/** Where streams show that they stand still, and the clock by which they are judged. */
export interface StreamPlace {
  readonly clock: Pick<Clock, 'monotonic_ms'>;
  readonly waits: Waits;
}

/** A place for streams that nobody watches, as in tests. */
export function ownPlace(): StreamPlace {
  return { clock: systemClock, waits: new Waits() };
}

/**
 * Notices a change stream whose time stands still while that of its cluster goes on. A router waits for ever for a
 * member of a shard that it has asked once, as when that is frozen: the stream returns nothing, though another member
 * leads, and a stream that is opened then shows everything. Each opening in vain doubles the limit: it is no use where
 * a server reads long, or shards are idle and write no no-ops.
 */
export class StreamWatch {
  /** The latest time that the stream has shown. */
  #time: bigint;
  /** The latest time of the cluster that any reply has shown: not every reply shows one. */
  #clusterTime = 0n;
  #limit_ms: number | null = null;
  /** Time that the reader has waited since the stream was opened, or has last shown something. */
  #waited_ms = 0;
  #asked_ms = 0;
  #isShown = false;
  readonly #leave: () => void;

  /**
   * @param wait who reads what, for example `cluster0 router` and `the change stream`
   * @param startAt the first time to read
   */
  constructor(
    private readonly place: StreamPlace,
    private readonly wait: Wait,
    startAt: bigint,
  ) {
    this.#time = startAt;
    this.#leave = place.waits.add(() => (this.#isShown ? [this.wait] : []));
  }

  /** Call it before each batch is asked for. */
  asked(): void {
    this.#asked_ms = this.place.clock.monotonic_ms();
  }

  /**
   * Call it with each batch.
   * @returns whether to open the stream anew, where it continues
   */
  answered(batch: RawBatch): boolean {
    const time = batch.resumeToken === undefined ? 0n : tokenTime(batch.resumeToken);
    this.#clusterTime = highestTime([this.#clusterTime, clusterTime(batch)]);
    const hasMoved = time > this.#time;
    if (hasMoved) this.#time = time;
    const behind = secondsOf(this.#clusterTime) - secondsOf(this.#time);
    const limit_ms = behind > near_seconds ? standingBehind_ms : standing_ms;
    if (batch.documents.length > 0 || hasMoved || behind < behind_seconds) {
      this.#limit_ms = limit_ms;
      this.#waited_ms = 0;
      this.#isShown = false;
      return false;
    }
    this.#limit_ms ??= limit_ms;
    this.#waited_ms += this.place.clock.monotonic_ms() - this.#asked_ms;
    if (this.#waited_ms >= this.#limit_ms * shown_ratio) this.#isShown = true;
    if (this.#waited_ms < this.#limit_ms) return false;
    this.#waited_ms = 0;
    this.#limit_ms *= 2;
    this.place.waits.onReopened(this.wait);
    return true;
  }

  /** The stream is not read any more. */
  close(): void {
    this.#isShown = false;
    this.#leave();
  }
}

/** The latest time that the answering node or its primary knows. */
function clusterTime({ operationTime, primaryTime }: RawBatch): bigint {
  return highestTime([operationTime, primaryTime].flatMap((time) => (time === undefined ? [] : [timeOf(time)])));
}
