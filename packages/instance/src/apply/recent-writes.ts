import { shownName } from '../cluster/time-series.js';
import type { Clock } from '../async/clock.js';
import { secondsOf } from '../cluster/cluster-time.js';

/** Writes count for this long. */
export const writesWindow_seconds = 10;
/** Maximum namespaces with a count of their own; writes to further ones count in the total alone. */
const namespacesMax = 1_000;

/** Writes to one namespace, by the second in which they were read. */
interface Writes {
  readonly database: string;
  readonly name: string;
  /** By second, modulo the window. */
  readonly counts: number[];
  readonly seconds: number[];
}

/** Users' writes to the source in the last seconds. */
export interface SourceWrites {
  readonly writes: number;
  readonly namespaces: readonly { readonly namespace: string; readonly writes: number }[];
  /** Cluster time of the latest write that was read, in seconds since 1970; null without any. */
  readonly lastWrite_seconds: number | null;
}

/**
 * Counts the writes that a stream shows, by namespace, while they are new. A stream that is behind shows old ones, and
 * they say nothing about the present. Memory is bounded by the number of namespaces.
 */
export class RecentWrites {
  readonly #byName = new Map<string, Writes>();
  readonly #all = emptyWrites('', '');
  #last: Writes | null = null;
  #lastWrite_seconds: number | null = null;
  #second = 0;
  #newFrom_seconds = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonic_ms'>) {}

  /**
   * Called before the writes of a step of the stream.
   * @param sourceTime the latest known operation time of the source
   */
  beginStep(sourceTime: bigint): void {
    this.#second = this.#now();
    this.#newFrom_seconds = secondsOf(sourceTime) - writesWindow_seconds;
  }

  /** @param time cluster time of the write */
  count(database: string, name: string, time: bigint): void {
    const at_seconds = secondsOf(time);
    this.#lastWrite_seconds = Math.max(this.#lastWrite_seconds ?? 0, at_seconds);
    if (at_seconds < this.#newFrom_seconds) return;
    this.#add(this.#all);
    if (this.#last?.name !== name || this.#last.database !== database) this.#last = this.#of(database, name);
    if (this.#last !== null) this.#add(this.#last);
  }

  /** The writes of the last seconds, namespaces with most of them first. */
  read(): SourceWrites {
    const now = this.#now();
    const namespaces: { namespace: string; writes: number }[] = [];
    for (const [namespace, entry] of this.#byName) {
      const writes = within(entry, now);
      if (writes > 0) namespaces.push({ namespace, writes });
      else this.#byName.delete(namespace);
    }
    this.#last = null;
    namespaces.sort((a, b) => b.writes - a.writes || (a.namespace < b.namespace ? -1 : 1));
    return { writes: within(this.#all, now), namespaces, lastWrite_seconds: this.#lastWrite_seconds };
  }

  #now(): number {
    return Math.floor(this.clock.monotonic_ms() / 1000);
  }

  #of(database: string, name: string): Writes | null {
    const namespace = shownName({ database, name });
    const known = this.#byName.get(namespace);
    if (known !== undefined || this.#byName.size >= namespacesMax) return known ?? null;
    const added = emptyWrites(database, name);
    this.#byName.set(namespace, added);
    return added;
  }

  #add({ counts, seconds }: Writes): void {
    const place = this.#second % writesWindow_seconds;
    counts[place] = (seconds[place] === this.#second ? (counts[place] ?? 0) : 0) + 1;
    seconds[place] = this.#second;
  }
}

function emptyWrites(database: string, name: string): Writes {
  return { database, name, counts: [], seconds: [] };
}

function within({ counts, seconds }: Writes, now: number): number {
  return counts.reduce(
    (sum, count, place) => ((seconds[place] ?? -Infinity) > now - writesWindow_seconds ? sum + count : sum),
    0,
  );
}
