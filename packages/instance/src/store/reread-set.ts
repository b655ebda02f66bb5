import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Binary, Document } from 'mongodb';
import { idClass } from '../bson/id-class.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/stored-value.js';
import type { ByteBudget } from './byte-budget.js';
import type { ChangeEvent } from './change-event.js';
import { ownedEvent } from './owned-event.js';
import { Condition } from './condition.js';
import type { SyncedCollection } from './synced-collection.js';

/** Why a key is doubtful; a rising number of any of them is a finding. */
export type RereadReason =
  | 'duplicateKey'
  | 'indexKeys'
  | 'unmatchedDelta'
  | 'inexactDelta'
  | 'largeStatement'
  | 'undefinedShardKey'
  | 'unknownOutcome'
  | 'shardKeyChange'
  | 'replayedDelta'
  | 'preparedTransaction'
  | 'orphanEvent'
  | 'mismatch';

/** A key that is to be brought to the source's state by reading it anew. */
export interface RereadEntry {
  readonly collection: SyncedCollection;
  /** Class of the `_id` in the simple collation: one entry stands for all `_id`s of it. */
  readonly idClass: string;
  readonly id: RawValue;
  readonly reason: RereadReason;
  /** The time of the reading; null while it waits for one. Events up to it are dropped, later ones held. */
  readTime: bigint | null;
  /** The latest event that was dropped because the coming reading will include it: the reading may not be earlier. */
  dropped: bigint;
  buffered: ChangeEvent[];
  attempts: number;
  /** Not tried before this moment of the monotonic clock, in milliseconds. */
  notBefore_ms: number;
  durable: boolean;
}

/** How the latest reading of a repaired key was. */
interface Reading {
  /** Its document has every event up to here. */
  readonly readTime: bigint;
  /** The source's operation time at the end: what a reading shows too early is not later. */
  readonly readEnd: bigint;
}

/** A key to be added. */
export interface RereadRequest {
  collection: SyncedCollection;
  id: RawValue;
  reason: RereadReason;
  /** Time of the latest event whose effect the reading has to include. */
  time: bigint;
}

/** About 50 MB in memory. Beyond it, copying a range of the keys anew is cheaper than reading each of them. */
const rereadRequestsMax = 250_000;
/** Keys come in while a range of them is given up, and not all can be; so many are about 100 MB. */
const keysMax = 500_000;

/** The durable form of the set, written at majority. */
export interface RereadStorage {
  upsert(documents: Document[]): Promise<void>;
  remove(ids: string[]): Promise<void>;
}

/**
 * The doubtful keys of one share. A key is durable before the event that made it doubtful counts as done,
 * and leaves the set only after its documents are written.
 */
export class RereadSet {
  readonly #entries = new Map<string, RereadEntry>();
  /** The readings of repaired keys, until every event up to their end is done. */
  readonly #readings = new Map<string, Reading>();
  /** The latest time of them: no later event has to be looked up. */
  #readUpTo = -1n;
  readonly added = new Condition();
  readonly counts = new Map<RereadReason, number>();

  constructor(
    private readonly storage: RereadStorage,
    private readonly budget: ByteBudget,
    /** From so many keys on the densest range is given up. */
    private readonly fullAt = rereadRequestsMax,
  ) {}

  /** There are more keys than should be read one by one. */
  get isFull(): boolean {
    return this.#entries.size >= this.fullAt;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether a key is in doubt of a collection that can be read at a time. */
  anyUpTo(time: bigint): boolean {
    for (const { collection } of this.#entries.values()) if (collection.notBefore <= time) return true;
    return false;
  }

  entries(): Iterable<RereadEntry> {
    return this.#entries.values();
  }

  /** Puts back the keys that were durable when the share was taken over. */
  restore(stored: readonly Document[], collections: ReadonlyMap<string, SyncedCollection>): void {
    for (const document of stored) {
      const collection = collections.get(String(document.uuid));
      if (collection === undefined) continue;
      const key: RereadRequest = {
        collection,
        id: restoredValue(document.id as Binary),
        reason: document.reason as RereadReason,
        time: 0n,
      };
      const entry = { ...newEntry(key), durable: true };
      this.#entries.set(entryKey(entry), entry);
    }
  }

  get(collection: SyncedCollection, id: RawValue): RereadEntry | undefined {
    if (this.#entries.size === 0) return undefined;
    return this.#entries.get(entryKey({ collection, idClass: idClass(id, false) }));
  }

  has(entry: RereadEntry): boolean {
    return this.#entries.get(entryKey(entry)) === entry;
  }

  /** Adds keys and resolves once they are durable. Keys that are in the set already stay as they are. */
  async add(keys: readonly RereadRequest[]): Promise<void> {
    await this.store(keys.flatMap((key) => this.enter(key) ?? []));
  }

  /** Adds a key, which absorbs its events from now on. @returns the entry that is to be stored, or null when the key was there already */
  enter(key: RereadRequest): RereadEntry | null {
    const entry = newEntry({ ...key, id: ownedValue(key.id) });
    const present = this.#entries.get(entryKey(entry));
    if (present !== undefined) {
      if (present.dropped < key.time) present.dropped = key.time;
      return null;
    }
    this.#entries.set(entryKey(entry), entry);
    this.counts.set(key.reason, (this.counts.get(key.reason) ?? 0) + 1);
    if (this.#entries.size > keysMax) throw tooManyKeys();
    return entry;
  }

  /**
   * Adds keys that any statement may be under way for; they are read once none is.
   * @param untilAnswered resolves when no statement is under way that was made before it was called
   */
  async addParked(keys: readonly RereadRequest[], untilAnswered: () => Promise<void>): Promise<void> {
    const entries = keys.flatMap((key) => this.enter(key) ?? []);
    for (const entry of entries) entry.notBefore_ms = Infinity;
    const answered = untilAnswered();
    await Promise.all([this.store(entries), answered]);
    for (const entry of entries) entry.notBefore_ms = 0;
  }

  /** Makes entered keys durable, all in one write. */
  async store(entries: readonly RereadEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.storage.upsert(entries.map(storedEntry));
    for (const entry of entries) entry.durable = true;
    this.added.changed();
  }

  /**
   * Says what becomes of an event of a key in the set, or of one that was: dropped (a reading includes it) or held.
   * @returns false when it goes its ordinary way
   */
  absorb(event: ChangeEvent, collection: SyncedCollection): 'dropped' | 'buffered' | false {
    if (this.#entries.size === 0 && event.time > this.#readUpTo) return false;
    const key = entryKey({ collection, idClass: idClass(event.id, false) });
    const entry = this.#entries.get(key);
    if (entry === undefined) return isIncluded(event, collection, this.#readings.get(key)) ? 'dropped' : false;
    if (entry.readTime === null || event.time <= entry.readTime) {
      if (event.time > entry.dropped) entry.dropped = event.time;
      return 'dropped';
    }
    entry.buffered.push(ownedEvent(event));
    return 'buffered';
  }

  /** A reading failed: the next one will include what was held. Returns the held events, which are done with. */
  postpone(entry: RereadEntry, notBefore_ms: number): ChangeEvent[] {
    const buffered = entry.buffered;
    entry.buffered = [];
    entry.readTime = null;
    entry.attempts += 1;
    entry.notBefore_ms = notBefore_ms;
    for (const event of buffered) {
      this.budget.give(event.bytes);
      if (event.time > entry.dropped) entry.dropped = event.time;
    }
    return buffered;
  }

  /**
   * Takes repaired keys out, durably first.
   * @param readEnd the source's operation time when the reading ended
   * @param release lets the held events of a key go on; called in the same moment in which the key leaves the set, so
   * that no later event of it can overtake them
   */
  async remove(entries: readonly RereadEntry[], readEnd: bigint, release: (entry: RereadEntry) => void): Promise<void> {
    if (entries.length === 0) return;
    await this.storage.remove(entries.map(storedId));
    for (const entry of entries) {
      this.#entries.delete(entryKey(entry));
      const readTime = entry.readTime ?? -1n;
      this.#readings.set(entryKey(entry), { readTime, readEnd });
      if (readTime > this.#readUpTo) this.#readUpTo = readTime;
      release(entry);
    }
  }

  /**
   * Takes keys out, durably first, that are not being read: their documents are gone from the destination, and a copy to come includes what
   * there is of them on the source.
   * @returns the latest event of theirs that was dropped: that copy may not be read earlier
   */
  async giveUp(entries: readonly RereadEntry[]): Promise<bigint> {
    await this.storage.remove(entries.map(storedId));
    let dropped = 0n;
    for (const entry of entries) {
      this.#entries.delete(entryKey(entry));
      if (entry.dropped > dropped) dropped = entry.dropped;
    }
    return dropped;
  }

  /** Takes all keys of a collection out, durably first: it is gone, and what was held is done with. */
  async forget(uuid: string): Promise<void> {
    const gone = [...this.#entries.values()].filter(({ collection }) => collection.uuid === uuid);
    if (gone.length > 0) await this.storage.remove(gone.map(storedId));
    for (const entry of gone) {
      this.#entries.delete(entryKey(entry));
      for (const event of entry.buffered) this.budget.give(event.bytes);
      entry.buffered = [];
    }
  }

  /** Up to which time changes may be in the document of a key too early, because it was repaired lately; or null. */
  readEndOf(collection: SyncedCollection, id: RawValue): bigint | null {
    if (this.#readings.size === 0) return null;
    return this.#readings.get(entryKey({ collection, idClass: idClass(id, false) }))?.readEnd ?? null;
  }

  /** Every event below `time` of a repaired key is done: readings that ended before it no longer matter. */
  forgetReadings(time: bigint): void {
    for (const [key, { readEnd }] of this.#readings) if (readEnd < time) this.#readings.delete(key);
  }

  /** Time of the earliest held event, or null. */
  oldestBuffered(): bigint | null {
    let oldest: bigint | null = null;
    for (const entry of this.#entries.values()) {
      const first = entry.buffered[0]?.time;
      if (first !== undefined && (oldest === null || first < oldest)) oldest = first;
    }
    return oldest;
  }
}

/** The order of a capped collection lies in its inserts and deletes, which a reading does not make up for. */
function isIncluded({ time }: ChangeEvent, { capped }: SyncedCollection, reading: Reading | undefined): boolean {
  return reading !== undefined && !capped && time <= reading.readTime;
}

function tooManyKeys(): ConvoyError {
  return new ConvoyError(
    'memoryBoundExceeded',
    `More than ${keysMax} documents would have to be read anew. Look at convoy_repairs_total for the reasons, then start anew.`,
  );
}

function newEntry(key: RereadRequest): RereadEntry {
  const { collection, id, reason, time } = key;
  return {
    collection,
    id,
    reason,
    idClass: idClass(id, false),
    dropped: time,
    readTime: null,
    buffered: [],
    attempts: 0,
    notBefore_ms: 0,
    durable: false,
  };
}

function entryKey(key: { collection: SyncedCollection; idClass: string }): string {
  return `${key.collection.uuid}/${key.idClass}`;
}

function storedId(entry: RereadEntry): string {
  return Buffer.from(entryKey(entry)).toString('base64');
}

function storedEntry(entry: RereadEntry): Document {
  return {
    _id: storedId(entry),
    uuid: entry.collection.uuid,
    id: storedValue(entry.id),
    reason: entry.reason,
  };
}
