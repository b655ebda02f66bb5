import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { classify, CollectionAbsentError } from '../cluster/failure.js';
import type { RereadEntry } from '../store/reread-set.js';
import { Condition } from '../store/condition.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { writeRefused } from '../store/write-refused.js';
import { readDestination, readEverywhere, ReadingTooLargeError } from './read-documents.js';
import type { GivenUpRange, RereadDependencies } from './reread-dependencies.js';
import { type BlockedEntry, keyOf, removeDocuments, rereadBatch } from './reread-batch.js';

/** Keys of one reading: the `$in` stays small and the reading far below 16 MB for ordinary documents. */
const batchKeysMax = 500;
/** Pause before a blocked or failed key is tried again; doubled per attempt up to the maximum. */
const retryMin_ms = 100;
const retryMax_ms = 5000;
/** How often it is looked for keys whose pause is over. */
const lookInterval_ms = 100;
/** After so many blocked attempts it is asked whether the source holds both documents. */
const attemptsBeforeQuestion = 5;
/** Half an hour of attempts: for so long an index may be ahead of the documents, or left over from the source. */
const attemptsAgainstIndex = 360;

/** After a reading that was too large, so many times fewer keys are read at once; twice as many again after each that was not. */
const fewerKeysFactor = 8;

/** What ends a repair: all of the share's, that of a collection before anything is written, writes in flight included. */
interface Signals {
  stop: AbortSignal;
  suspend: AbortSignal;
  hard: AbortSignal;
}

/** Repairs the doubtful keys of one share, one batch at a time. */
export class Rereader {
  #keysMax = batchKeysMax;
  /** The collection whose keys are being repaired, and what breaks that off. */
  #repairing: { collection: SyncedCollection; suspend: AbortController } | null = null;
  readonly #ended = new Condition();

  constructor(private readonly deps: RereadDependencies) {}

  /** Works until the stop signal; rejects when a key cannot be repaired. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      const range = await this.deps.givenUp();
      const batch = range === null ? this.#due() : null;
      const collection = range?.collection ?? batch?.collection;
      const suspend = new AbortController();
      this.#repairing = collection === undefined ? null : { collection, suspend };
      if (range !== null) await this.#giveUp(range, stop, hard);
      else if (batch === null) await this.#pause(stop);
      else await this.#reread(batch.collection, batch.entries, { stop, suspend: suspend.signal, hard });
      this.#repairing = null;
      this.#ended.changed();
    }
  }

  /** Breaks the reading of a collection's keys off: what it waits for may wait for the change that the collection is let go of for. */
  suspend(uuid: string): void {
    if (this.#repairing?.collection.uuid === uuid) this.#repairing.suspend.abort(new CollectionAbsentError('let go'));
  }

  /** Resolves once no key of the collection is being repaired. */
  async quiet(uuid: string, signal: AbortSignal): Promise<void> {
    await this.#ended.until(() => this.#repairing?.collection.uuid !== uuid, signal);
  }

  async #pause(stop: AbortSignal): Promise<void> {
    const { rereads, clock } = this.deps;
    if (rereads.size === 0) await rereads.added.until(() => rereads.size > 0, stop);
    else await clock.sleep(lookInterval_ms, stop);
  }

  /** The keys of one collection that may be read now. */
  #due(): { collection: SyncedCollection; entries: RereadEntry[] } | null {
    const now_ms = this.deps.clock.monotonic_ms();
    const entries: RereadEntry[] = [];
    for (const entry of this.deps.rereads.entries()) {
      if (entries.length >= this.#keysMax) break;
      const sameCollection = entries[0] === undefined || entries[0].collection === entry.collection;
      const due = entry.durable && entry.readTime === null && entry.notBefore_ms <= now_ms;
      if (sameCollection && due && this.deps.mayRead(entry)) entries.push(entry);
    }
    const first = entries[0];
    return first === undefined ? null : { collection: first.collection, entries };
  }

  /** Some keys of a range at a time, so that a definition change does not wait for all of them. */
  async #giveUp({ collection, entries, left }: GivenUpRange, stop: AbortSignal, hard: AbortSignal): Promise<void> {
    const some = entries.filter(({ durable }) => durable).slice(0, this.#keysMax);
    if (some.length === 0) {
      await this.deps.clock.sleep(lookInterval_ms, stop);
      return;
    }
    try {
      await removeDocuments(collection, some, this.deps, stop, hard);
    } catch (error) {
      if (error instanceof ReadingTooLargeError) this.#keysMax = Math.max(1, Math.floor(some.length / fewerKeysFactor));
      else if (isPassing(error)) await this.deps.clock.sleep(lookInterval_ms, stop);
      else throw error;
      return;
    }
    left(await this.deps.rereads.giveUp(some));
    this.#keysMax = Math.min(batchKeysMax, this.#keysMax * 2);
  }

  async #reread(collection: SyncedCollection, entries: RereadEntry[], { stop, suspend, hard }: Signals): Promise<void> {
    const { rereads } = this.deps;
    try {
      const outcome = await rereadBatch(collection, entries, this.deps, AbortSignal.any([stop, suspend]), hard);
      for (const blocked of outcome.blocked) await this.#onBlocked(blocked, stop);
      await rereads.remove(outcome.reread, outcome.readEnd, (entry) => this.deps.release(entry));
      this.#keysMax = Math.min(batchKeysMax, this.#keysMax * 2);
    } catch (error) {
      if (error instanceof ReadingTooLargeError) {
        this.#keysMax = Math.max(1, Math.floor(entries.length / fewerKeysFactor));
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

  /** Another share's outdated document may stand in the way, and goes by itself; live ones never will. */
  async #onBlocked(blocked: BlockedEntry, stop: AbortSignal): Promise<void> {
    const { entry } = blocked;
    this.#postpone(entry);
    if (entry.attempts >= attemptsAgainstIndex) await this.#refuseLasting(blocked, stop);
    if (entry.attempts < attemptsBeforeQuestion) return;
    if (!(await this.#areAllLive(blocked, stop))) return;
    const { database, name } = entry.collection;
    throw new ConvoyError(
      'duplicateIdAcrossShards',
      `${database}.${name} holds documents with the same _id on several shards, which the destination cannot hold both. Remove one of each and start anew.`,
    );
  }

  /** An index that is ahead takes what later readings find, however far they are behind; what the source has just now it never will. */
  async #refuseLasting({ entry, refused }: BlockedEntry, stop: AbortSignal): Promise<void> {
    const { retrying, source } = this.deps;
    const byIndex = refused.filter(({ reason }) => reason === 'indexKeys');
    if (byIndex.length === 0) return;
    const live = await retrying(
      'look for refused documents',
      () => readEverywhere(source, entry.collection, entry, stop),
      stop,
    );
    const lasting = byIndex.find(({ document }) => live.some((one) => Buffer.compare(one, document) === 0));
    if (lasting !== undefined) throw writeRefused(entry.collection, lasting.code);
  }

  /**
   * Whether the source holds a refused document and every one that may have been in its way: those of the destination
   * before and after the refusal. Two that do not meet on the destination may both live while a third, outdated, is in the way.
   */
  async #areAllLive({ entry, refused, present }: BlockedEntry, stop: AbortSignal): Promise<boolean> {
    const { collection, idClass } = entry;
    const { retrying, source, destination } = this.deps;
    const after = await retrying(
      'look for equal _ids on the destination',
      () => readDestination(destination, collection, [entry], stop),
      stop,
    );
    const live = (
      await retrying('look for equal _ids', () => readEverywhere(source, collection, entry, stop), stop)
    ).map((document) => keyOf(collection, document));
    const isLive = (key: Buffer): boolean => live.some((one) => one.equals(key));
    const seen = [...present, ...(after.get(idClass) ?? []).map((document) => keyOf(collection, document))];
    return refused.some(({ key, reason }) => {
      if (reason !== 'duplicateKey') return false;
      const others = seen.filter((one) => !one.equals(key));
      return isLive(key) && others.length > 0 && others.every(isLive);
    });
  }
}

/** Another reading will not meet it. */
function isPassing(error: unknown): boolean {
  const kind = classify(error);
  return kind === 'snapshotTooOld' || kind === 'catalogChanged';
}
