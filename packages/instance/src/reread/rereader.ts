import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../cluster/time-series.js';
import { Condition } from '../async/waiting.js';
import { classify, CollectionAbsentError } from '../cluster/failure.js';
import { writeRefused } from '../store/fenced-writer.js';
import type { RereadEntry } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import {
  type BlockedEntry,
  type GivenUpRange,
  fullKeyOf,
  readDestination,
  readEverywhere,
  ReadingTooLargeError,
  removeDocuments,
  rereadBatch,
  type RereadDependencies,
} from './reread-batch.js';

/** Entries of one read: keeps the `$in` small and the reply far below 16 MB for ordinary documents. */
const batchEntriesMax = 500;
/** Pause before the next attempt for a blocked or failed entry; doubled per attempt up to the maximum. */
const retryMin_ms = 100;
const retryMax_ms = 5000;
/** Interval of the search for entries whose pause is over. */
const lookInterval_ms = 100;
/** For so many entries more the interval is as much longer again: a copy in record order keeps very many waiting. */
const entriesPerInterval = 10_000;
/** Blocked attempts before the rereader checks whether the source has both documents. */
const attemptsBeforeQuestion = 5;
/** Half an hour of attempts: an index may be ahead of the documents, or obsolete, for that long. */
const attemptsAgainstIndex = 360;

/** Divides the batch size after a read that was too large; every other read doubles it again. */
const fewerEntriesFactor = 8;

interface Signals {
  /** Ends all re-reads of the task. */
  stop: AbortSignal;
  /** Ends the re-read of one collection, before its writes. */
  suspend: AbortSignal;
  /** Ends writes in flight. */
  hard: AbortSignal;
}

/** Re-reads the documents of one task's re-read set, one batch at a time. */
export class Rereader {
  #entriesMax = batchEntriesMax;
  /** The collection of the present batch; `suspend` aborts its read. */
  #present: { collection: SyncedCollection; suspend: AbortController } | null = null;
  readonly #ended = new Condition();

  constructor(private readonly deps: RereadDependencies) {}

  /** Works until the stop signal; rejects when a document cannot be written. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      const range = await this.deps.relief.next();
      const batch = range === null ? this.#due() : null;
      const collection = range?.collection ?? batch?.collection;
      const suspend = new AbortController();
      this.#present = collection === undefined ? null : { collection, suspend };
      if (range !== null) await this.#giveUp(range, stop, hard);
      else if (batch === null) await this.#pause(stop);
      else await this.#reread(batch.collection, batch.entries, { stop, suspend: suspend.signal, hard });
      this.#present = null;
      this.#ended.changed();
    }
  }

  /** Aborts the read of a collection's documents: it may wait for the same DDL change that suspends the collection. */
  suspend(uuid: string): void {
    if (this.#present?.collection.uuid === uuid) this.#present.suspend.abort(new CollectionAbsentError('suspended'));
  }

  /** Resolves once no document of the collection is being re-read. */
  async quiet(uuid: string, signal: AbortSignal): Promise<void> {
    await this.#ended.until(() => this.#present?.collection.uuid !== uuid, signal);
  }

  async #pause(stop: AbortSignal): Promise<void> {
    const { rereads, clock } = this.deps;
    if (rereads.size === 0) await rereads.added.until(() => rereads.size > 0, stop);
    else await clock.sleep(lookInterval_ms * (1 + Math.floor(rereads.size / entriesPerInterval)), stop);
  }

  /** The entries of one collection that may be read now. */
  #due(): { collection: SyncedCollection; entries: RereadEntry[] } | null {
    const now_ms = this.deps.clock.monotonic_ms();
    const entries: RereadEntry[] = [];
    for (const entry of this.deps.rereads.entries()) {
      if (entries.length >= this.#entriesMax) break;
      const sameCollection = entries[0] === undefined || entries[0].collection === entry.collection;
      const due = entry.durable && entry.readTime === null && entry.notBefore_ms <= now_ms;
      if (sameCollection && due && this.deps.mayRead(entry)) entries.push(entry);
    }
    const first = entries[0];
    return first === undefined ? null : { collection: first.collection, entries };
  }

  /** Gives up some entries of a range at a time, so that a DDL change does not wait for all of them. */
  async #giveUp({ collection, entries, left }: GivenUpRange, stop: AbortSignal, hard: AbortSignal): Promise<void> {
    const some = entries.slice(0, this.#entriesMax);
    if (some.length === 0) {
      await this.deps.clock.sleep(lookInterval_ms, stop);
      return;
    }
    try {
      await removeDocuments({ collection, entries: some, deps: this.deps, stop, hard });
    } catch (error) {
      if (error instanceof ReadingTooLargeError)
        this.#entriesMax = Math.max(1, Math.floor(some.length / fewerEntriesFactor));
      else if (isPassing(error)) await this.deps.clock.sleep(lookInterval_ms, stop);
      else throw error;
      return;
    }
    left(await this.deps.rereads.giveUp(some));
    this.#entriesMax = Math.min(batchEntriesMax, this.#entriesMax * 2);
  }

  async #reread(collection: SyncedCollection, entries: RereadEntry[], { stop, suspend, hard }: Signals): Promise<void> {
    const { rereads } = this.deps;
    try {
      const stopped = AbortSignal.any([stop, suspend]);
      const outcome = await rereadBatch({ collection, entries, deps: this.deps, stop: stopped, hard });
      for (const blocked of outcome.blocked) await this.#onBlocked(blocked, stop);
      await rereads.remove(outcome.reread, outcome.readEnd, (entry) => this.deps.stream.releaseReread(entry));
      this.#entriesMax = Math.min(batchEntriesMax, this.#entriesMax * 2);
    } catch (error) {
      if (error instanceof ReadingTooLargeError) {
        this.#entriesMax = Math.max(1, Math.floor(entries.length / fewerEntriesFactor));
        for (const entry of entries) rereads.postpone(entry, entry.notBefore_ms);
        return;
      }
      const isBroken = suspend.aborted && !stop.aborted && !(error instanceof ConvoyError);
      if (!isBroken && !isPassing(error)) throw error;
      for (const entry of entries) this.#postpone(entry);
    }
  }

  #postpone(entry: RereadEntry): void {
    const delay_ms = Math.min(retryMax_ms, retryMin_ms * 2 ** Math.min(entry.attempts, 10));
    this.deps.rereads.postpone(entry, this.deps.clock.monotonic_ms() + delay_ms);
  }

  /** An outdated document of another task may be in the way and will disappear; a live one never will. */
  async #onBlocked(blocked: BlockedEntry, stop: AbortSignal): Promise<void> {
    const { entry } = blocked;
    this.#postpone(entry);
    if (entry.attempts >= attemptsAgainstIndex) await this.#refuseLasting(blocked, stop);
    if (entry.attempts < attemptsBeforeQuestion) return;
    if (!(await this.#areAllLive(blocked, stop))) return;
    throw new ConvoyError(
      'duplicateIdAcrossShards',
      `${shownName(entry.collection)} has documents with the same _id on several shards, which the destination ` +
        'cannot store. Remove one of each, then start a new migration.',
    );
  }

  /**
   * An index that is ahead accepts the documents of later reads. It never accepts one that the source has right now.
   */
  async #refuseLasting({ entry, refused }: BlockedEntry, stop: AbortSignal): Promise<void> {
    const { retrying, source } = this.deps;
    const byIndex = refused.filter(({ reason }) => reason === 'indexKeys');
    if (byIndex.length === 0) return;
    const live = await retrying(
      'read refused documents on the source',
      () => readEverywhere(source, entry.collection, entry, stop),
      stop,
    );
    const lasting = byIndex.find(({ document }) => live.some((one) => Buffer.compare(one, document) === 0));
    if (lasting !== undefined) throw writeRefused(entry.collection, lasting.code);
  }

  /**
   * Whether the source has a refused document and all that may have been in its way: those on the destination before
   * and after the refusal. One live document among them is not enough, since an outdated one may be in the way.
   */
  async #areAllLive({ entry, refused, present }: BlockedEntry, stop: AbortSignal): Promise<boolean> {
    const { collection, idClass } = entry;
    const { retrying, source, destination } = this.deps;
    const after = await retrying(
      'read documents with equal _ids on the destination',
      () => readDestination(destination, collection, [entry], stop),
      stop,
    );
    const live = (
      await retrying('read documents with equal _ids', () => readEverywhere(source, collection, entry, stop), stop)
    ).map((document) => fullKeyOf(collection, document));
    const isLive = (key: Buffer): boolean => live.some((one) => one.equals(key));
    const seen = [...present, ...(after.get(idClass) ?? []).map((document) => fullKeyOf(collection, document))];
    return refused.some(({ key, reason }) => {
      if (reason !== 'duplicateKey') return false;
      const others = seen.filter((one) => !one.equals(key));
      return isLive(key) && others.length > 0 && others.every(isLive);
    });
  }
}

/** Whether another read may succeed. */
function isPassing(error: unknown): boolean {
  const kind = classify(error);
  return kind === 'snapshotTooOld' || kind === 'catalogChanged';
}
