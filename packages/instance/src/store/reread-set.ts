import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Binary, Document } from 'mongodb';
import { type ByteBudget, Condition } from '../async/waiting.js';
import { idClass } from '../bson/id.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/sent-value.js';
import { type ChangeEvent, ownedEvent } from './change-event.js';
import type { SyncedCollection } from './synced-collection.js';

/** Why a document is re-read. A rising count of any reason needs attention. */
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
  | 'documentFilter'
  | 'bucket'
  | 'hotDocument'
  | 'recordOrder'
  | 'mismatch';

/** A document to re-read: the rereader brings all documents of its id class to the source's state. */
export interface RereadEntry {
  readonly collection: SyncedCollection;
  /** Class of the `_id` in the simple collation: one entry stands for all `_id`s of it. */
  readonly idClass: string;
  readonly id: RawValue;
  readonly reason: RereadReason;
  /** The time of the read; null before it starts. Events up to it are dropped, later ones buffered. */
  readTime: bigint | null;
  /** The latest event dropped because the next read includes it: that read may not be earlier. */
  dropped: bigint;
  /** Time of the earliest event dropped before the entry was durable. It does not count as applied until then. */
  undurable: bigint | null;
  /** Resolves once the entry is durable; null before it is being stored. */
  storing: Promise<void> | null;
  buffered: ChangeEvent[];
  attempts: number;
  /** The next attempt is not before this time of the monotonic clock, in milliseconds. */
  notBefore_ms: number;
  durable: boolean;
}

/** The latest read of an entry that has left the set. */
interface Reading {
  /** UUID of the collection. */
  readonly uuid: string;
  /** The document includes every event up to here. */
  readonly readTime: bigint;
  /** The source's operation time at the end: the document includes no transaction after it. */
  readonly readEnd: bigint;
}

export interface RereadRequest {
  collection: SyncedCollection;
  id: RawValue;
  reason: RereadReason;
  /** Time of the latest event that the read must include. */
  time: bigint;
}

/** About 50 MB in memory. For more documents, copying a range again is cheaper than reading each. */
const rereadRequestsMax = 250_000;
/** About 100 MB. Entries arrive while a range is given up, and some cannot be given up. */
const entriesMax = 500_000;

/** So many times as many as in a full set: the workers wait while entries are given up, far below `entriesMax`. */
const waitAbove = 1.5;

/** Stores the set at majority. */
export interface RereadStorage {
  upsert(documents: Document[]): Promise<void>;
  remove(ids: string[]): Promise<void>;
}

/**
 * The documents to re-read of one sync task. An entry is durable before the event that caused it counts as applied, and
 * leaves the set only after its documents are written.
 */
export class RereadSet {
  readonly #entries = new Map<string, RereadEntry>();
  /** The reads of removed entries, until every event up to their end is applied. */
  readonly #readings = new Map<string, Reading>();
  /** The latest of their times: no later event needs a look-up. */
  #readUpTo = -1n;
  #ofRecordOrder = 0;
  #isRelieved = false;
  readonly #left = new Condition();
  readonly added = new Condition();
  readonly counts = new Map<RereadReason, number>();

  constructor(
    private readonly storage: RereadStorage,
    private readonly budget: ByteBudget,
    /** At this size the densest range is given up. */
    private readonly fullAt = rereadRequestsMax,
  ) {}

  /** Whether there are more entries than should be read one by one. */
  get isFull(): boolean {
    return this.#entries.size >= this.fullAt;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Entries that belong to a copy in record order: without them it is incomplete. */
  get ofRecordOrder(): number {
    return this.#ofRecordOrder;
  }

  /** @param isRelieved whether entries are being given up, which waits for no event */
  relieved(isRelieved: boolean): void {
    this.#isRelieved = isRelieved;
    this.#left.changed();
  }

  /** Resolves once more entries may come: there are not far too many, or none is being given up. */
  async untilRoom(signal: AbortSignal): Promise<void> {
    await this.#left.until(() => !this.#isRelieved || this.size <= this.fullAt * waitAbove, signal);
  }

  /** Whether there is an entry of a collection that can be read at `time`. */
  anyUpTo(time: bigint): boolean {
    for (const { collection } of this.#entries.values()) if (collection.notBefore <= time) return true;
    return false;
  }

  entries(): Iterable<RereadEntry> {
    return this.#entries.values();
  }

  /** Restores the stored entries when a process takes the task over. */
  restore(stored: readonly Document[], collections: ReadonlyMap<string, SyncedCollection>): void {
    for (const document of stored) {
      const collection = collections.get(String(document.uuid));
      if (collection === undefined) continue;
      const [id, reason] = [restoredValue(document.id as Binary), document.reason as RereadReason];
      this.#set({ ...newEntry({ collection, id, reason, time: 0n }), durable: true });
    }
  }

  get(collection: SyncedCollection, id: RawValue): RereadEntry | undefined {
    if (this.#entries.size === 0) return undefined;
    return this.#entries.get(entryKey({ collection, idClass: idClass(id, false) }));
  }

  has(entry: RereadEntry): boolean {
    return this.#entries.get(entryKey(entry)) === entry;
  }

  /** Adds entries and resolves once they are durable. Existing entries stay, and may still be on their way. */
  async add(requests: readonly RereadRequest[]): Promise<void> {
    await Promise.all([this.store(requests.flatMap((request) => this.enter(request) ?? [])), this.#stored(requests)]);
  }

  async #stored(requests: readonly RereadRequest[]): Promise<void> {
    await Promise.all(requests.map(({ collection, id }) => this.get(collection, id)?.storing ?? Promise.resolve()));
  }

  /**
   * Adds an entry, which absorbs the events of its id class from now on.
   * @returns the entry to store; null when there was one already
   */
  enter(request: RereadRequest): RereadEntry | null {
    const entry = newEntry({ ...request, id: ownedValue(request.id) });
    const present = this.#entries.get(entryKey(entry));
    if (present !== undefined) {
      if (present.dropped < request.time) present.dropped = request.time;
      return null;
    }
    this.#set(entry);
    this.counts.set(request.reason, (this.counts.get(request.reason) ?? 0) + 1);
    if (this.#entries.size > entriesMax) throw tooManyEntries();
    return entry;
  }

  /**
   * Adds entries for which a statement may be in flight; they are read once none is.
   * @param untilAnswered resolves once every statement made before its call is answered
   */
  async addParked(requests: readonly RereadRequest[], untilAnswered: () => Promise<void>): Promise<void> {
    const entries = requests.flatMap((request) => this.enter(request) ?? []);
    for (const entry of entries) entry.notBefore_ms = Infinity;
    const answered = untilAnswered();
    await Promise.all([this.store(entries), this.#stored(requests), answered]);
    for (const entry of entries) entry.notBefore_ms = 0;
  }

  /** Makes entries durable, all in one write. */
  async store(entries: readonly RereadEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const storing = this.storage.upsert(entries.map(storedEntry));
    for (const entry of entries) entry.storing = storing;
    await storing;
    for (const entry of entries) {
      entry.durable = true;
      entry.undurable = null;
    }
    this.added.changed();
  }

  /**
   * Drops an event that a read includes, or buffers one that is later than the read of its entry.
   * @returns false when the event is to be applied as usual
   */
  absorb(event: ChangeEvent, collection: SyncedCollection): 'dropped' | 'buffered' | false {
    if (this.#entries.size === 0 && event.time > this.#readUpTo) return false;
    const key = entryKey({ collection, idClass: idClass(event.id, false) });
    const entry = this.#entries.get(key);
    if (entry === undefined) return isIncluded(event, collection, this.#readings.get(key)) ? 'dropped' : false;
    if (entry.readTime === null || event.time <= entry.readTime) {
      if (event.time > entry.dropped) entry.dropped = event.time;
      if (!entry.durable) entry.undurable ??= event.time;
      return 'dropped';
    }
    entry.buffered.push(ownedEvent(event));
    return 'buffered';
  }

  /** Ends a failed read: the next one will include the buffered events. Returns these events, which are now dropped. */
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
   * Removes re-read entries, durably first.
   * @param readEnd the source's operation time when the read ended
   * @param release passes the buffered events of an entry on; called in the same tick in which the entry leaves the
   * set, so that no later event overtakes them
   */
  async remove(entries: readonly RereadEntry[], readEnd: bigint, release: (entry: RereadEntry) => void): Promise<void> {
    if (entries.length === 0) return;
    await this.storage.remove(entries.map(storedId));
    for (const entry of entries) {
      this.#delete(entry);
      const readTime = entry.readTime ?? -1n;
      this.#readings.set(entryKey(entry), { uuid: entry.collection.uuid, readTime, readEnd });
      if (readTime > this.#readUpTo) this.#readUpTo = readTime;
      release(entry);
    }
  }

  /**
   * Removes entries that are not being read, durably first. Their documents are gone from the destination, and a later
   * copy of their range includes them.
   * @returns the latest event dropped for them: that copy may not be read earlier
   */
  async giveUp(entries: readonly RereadEntry[]): Promise<bigint> {
    await this.storage.remove(entries.map(storedId));
    let dropped = 0n;
    for (const entry of entries) {
      this.#delete(entry);
      if (entry.dropped > dropped) dropped = entry.dropped;
    }
    return dropped;
  }

  /** Removes all entries of a collection that no longer exists, durably first, and drops their buffered events. */
  async forget(uuid: string): Promise<void> {
    const gone = [...this.#entries.values()].filter(({ collection }) => collection.uuid === uuid);
    if (gone.length > 0) await this.storage.remove(gone.map(storedId));
    for (const entry of gone) {
      this.#delete(entry);
      for (const event of entry.buffered) this.budget.give(event.bytes);
      entry.buffered = [];
    }
  }

  #set(entry: RereadEntry): void {
    this.#entries.set(entryKey(entry), entry);
    if (entry.reason === 'recordOrder') this.#ofRecordOrder += 1;
  }

  #delete(entry: RereadEntry): void {
    if (!this.#entries.delete(entryKey(entry))) return;
    if (entry.reason === 'recordOrder') this.#ofRecordOrder -= 1;
    this.#left.changed();
  }

  /** The time up to which a document may already include transactions because of a recent re-read; null without one. */
  readEndOf(collection: SyncedCollection, id: RawValue): bigint | null {
    if (this.#readings.size === 0) return null;
    return this.#readings.get(entryKey({ collection, idClass: idClass(id, false) }))?.readEnd ?? null;
  }

  /**
   * Forgets the reads that ended before every event of their collection that is still to be applied.
   * @param appliedBelow the time below which all events of a collection are applied, by its UUID
   */
  forgetReadings(appliedBelow: (uuid: string) => bigint): void {
    const times = new Map<string, bigint>();
    for (const [key, { uuid, readEnd }] of this.#readings) {
      const time = times.get(uuid) ?? appliedBelow(uuid);
      times.set(uuid, time);
      if (readEnd < time) this.#readings.delete(key);
    }
  }

  /** Time of the earliest event that is buffered, or dropped by an entry that is not durable; null without one. */
  oldestPending(): bigint | null {
    let oldest: bigint | null = null;
    for (const entry of this.#entries.values()) {
      const first = entry.undurable ?? entry.buffered[0]?.time;
      if (first !== undefined && (oldest === null || first < oldest)) oldest = first;
    }
    return oldest;
  }
}

/** False for capped collections: a re-read does not replace their inserts and deletes, which make their order. */
function isIncluded({ time }: ChangeEvent, { capped }: SyncedCollection, reading: Reading | undefined): boolean {
  return reading !== undefined && !capped && time <= reading.readTime;
}

function tooManyEntries(): ConvoyError {
  return new ConvoyError(
    'memoryBoundExceeded',
    `More than ${entriesMax} documents would have to be re-read. ` +
      'Look at convoy_rereads_total for the reasons, then start a new migration.',
  );
}

function newEntry({ collection, id, reason, time }: RereadRequest): RereadEntry {
  return {
    collection,
    id,
    reason,
    idClass: idClass(id, false),
    dropped: time,
    readTime: null,
    undurable: null,
    storing: null,
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
