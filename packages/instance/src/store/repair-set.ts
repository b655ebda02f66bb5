import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Binary, type Document } from 'mongodb';
import { idClass } from '../bson/id-class.js';
import { ownedValue, RawValue } from '../bson/scan.js';
import type { ByteBudget } from './byte-budget.js';
import type { ChangeEvent } from './change-event.js';
import { Signalled } from './signalled.js';
import type { SyncedCollection } from './synced-collection.js';

/** Why a key is doubtful; a rising number of any of them is a finding. */
export type RepairReason =
  | 'duplicateKey'
  | 'unmatchedDelta'
  | 'inexactDelta'
  | 'shardKeyChange'
  | 'replayedDelta'
  | 'preparedTransaction'
  | 'orphanEvent';

/** A key that is to be brought to the source's state by reading it anew. */
export interface RepairEntry {
  readonly collection: SyncedCollection;
  /** Class of the `_id` in the simple collation: one entry stands for all `_id`s of it. */
  readonly idClass: string;
  readonly id: RawValue;
  readonly reason: RepairReason;
  /** The time of the reading; null while it waits for one. Events up to it are dropped, later ones held. */
  readTime: bigint | null;
  /** The latest event that was dropped because the coming reading will include it: the reading may not be earlier. */
  dropped: bigint;
  held: ChangeEvent[];
  attempts: number;
  /** Not tried before this moment of the monotonic clock, in milliseconds. */
  notBefore_ms: number;
  durable: boolean;
}

/** A key to be added. */
export interface DoubtfulKey {
  collection: SyncedCollection;
  id: RawValue;
  reason: RepairReason;
  /** Time of the latest event whose effect the reading has to include. */
  time: bigint;
}

/** About 100 MB in memory. So many doubtful keys mean that something is wrong with one of the clusters. */
const keysMax = 500_000;

/** The durable form of the set, written at majority. */
export interface RepairStorage {
  put(documents: Document[]): Promise<void>;
  remove(ids: string[]): Promise<void>;
}

/**
 * The doubtful keys of one share. A key is durable before the event that made it doubtful counts as done,
 * and leaves the set only after its documents are written.
 */
export class RepairSet {
  readonly #entries = new Map<string, RepairEntry>();
  /** Where the readings of repaired keys ended, until the checkpoint has passed it. */
  readonly #readEnds = new Map<string, bigint>();
  readonly added = new Signalled();
  readonly counts = new Map<RepairReason, number>();

  constructor(
    private readonly storage: RepairStorage,
    private readonly budget: ByteBudget,
  ) {}

  get size(): number {
    return this.#entries.size;
  }

  entries(): Iterable<RepairEntry> {
    return this.#entries.values();
  }

  /** Puts back the keys that were durable when the share was taken over. */
  restore(stored: readonly Document[], collections: ReadonlyMap<string, SyncedCollection>): void {
    for (const document of stored) {
      const collection = collections.get(String(document.uuid));
      if (collection === undefined) continue;
      const bytes = Buffer.from((document.id as Binary).value());
      const key: DoubtfulKey = {
        collection,
        id: new RawValue(bytes.readUInt8(0), bytes.subarray(1)),
        reason: document.reason as RepairReason,
        time: 0n,
      };
      const entry = { ...newEntry(key), durable: true };
      this.#entries.set(entryKey(entry), entry);
    }
  }

  get(collection: SyncedCollection, id: RawValue): RepairEntry | undefined {
    if (this.#entries.size === 0) return undefined;
    return this.#entries.get(entryKey({ collection, idClass: idClass(id, false) }));
  }

  /** Adds keys and resolves once they are durable. Keys that are in the set already stay as they are. */
  async add(keys: readonly DoubtfulKey[]): Promise<void> {
    const fresh: RepairEntry[] = [];
    for (const key of keys) {
      const entry = newEntry({ ...key, id: ownedValue(key.id) });
      const present = this.#entries.get(entryKey(entry));
      if (present !== undefined) {
        if (present.dropped < key.time) present.dropped = key.time;
        continue;
      }
      this.#entries.set(entryKey(entry), entry);
      this.counts.set(key.reason, (this.counts.get(key.reason) ?? 0) + 1);
      fresh.push(entry);
    }
    if (this.#entries.size > keysMax) throw tooManyKeys();
    if (fresh.length === 0) return;
    await this.storage.put(fresh.map(storedEntry));
    for (const entry of fresh) entry.durable = true;
    this.added.changed();
  }

  /**
   * Says what becomes of an event of a key in the set: dropped (the coming reading includes it) or held.
   * @returns false when the key is not in the set and the event goes its ordinary way
   */
  absorb(event: ChangeEvent, collection: SyncedCollection): 'dropped' | 'held' | false {
    const entry = this.get(collection, event.id);
    if (entry === undefined) return false;
    if (entry.readTime === null || event.time <= entry.readTime) {
      if (event.time > entry.dropped) entry.dropped = event.time;
      return 'dropped';
    }
    entry.held.push(event);
    return 'held';
  }

  /** A reading failed: the next one will include what was held. Returns the held events, which are done with. */
  postpone(entry: RepairEntry, notBefore_ms: number): ChangeEvent[] {
    const held = entry.held;
    entry.held = [];
    entry.readTime = null;
    entry.attempts += 1;
    entry.notBefore_ms = notBefore_ms;
    for (const event of held) {
      this.budget.give(event.bytes);
      if (event.time > entry.dropped) entry.dropped = event.time;
    }
    return held;
  }

  /**
   * Takes repaired keys out, durably first.
   * @param readEnd the source's operation time when the reading ended
   * @param release lets the held events of a key go on; called in the same moment in which the key leaves the set, so
   * that no later event of it can overtake them
   */
  async remove(entries: readonly RepairEntry[], readEnd: bigint, release: (entry: RepairEntry) => void): Promise<void> {
    if (entries.length === 0) return;
    await this.storage.remove(entries.map(storedId));
    for (const entry of entries) {
      this.#entries.delete(entryKey(entry));
      this.#readEnds.set(entryKey(entry), readEnd);
      release(entry);
    }
  }

  /** Up to which time transactions may be in the document of a key already, because it was repaired lately; or null. */
  readEndOf(collection: SyncedCollection, id: RawValue): bigint | null {
    if (this.#readEnds.size === 0) return null;
    return this.#readEnds.get(entryKey({ collection, idClass: idClass(id, false) })) ?? null;
  }

  /** Everything below `time` is done: readings that ended before it no longer matter. */
  forgetReadings(time: bigint): void {
    for (const [key, readEnd] of this.#readEnds) if (readEnd < time) this.#readEnds.delete(key);
  }

  /** Time of the earliest held event, or null. */
  oldestHeld(): bigint | null {
    let oldest: bigint | null = null;
    for (const entry of this.#entries.values()) {
      const first = entry.held[0]?.time;
      if (first !== undefined && (oldest === null || first < oldest)) oldest = first;
    }
    return oldest;
  }
}

function tooManyKeys(): ConvoyError {
  return new ConvoyError('memoryBoundExceeded', `More than ${keysMax} documents would have to be read anew. Look at convoy_repairs_total for the reasons, then start anew.`);
}

function newEntry(key: DoubtfulKey): RepairEntry {
  const { collection, id, reason, time } = key;
  return { collection, id, reason, idClass: idClass(id, false), dropped: time, readTime: null, held: [], attempts: 0, notBefore_ms: 0, durable: false };
}

function entryKey(key: { collection: SyncedCollection; idClass: string }): string {
  return `${key.collection.uuid}/${key.idClass}`;
}

function storedId(entry: RepairEntry): string {
  return Buffer.from(entryKey(entry)).toString('base64');
}

function storedEntry(entry: RepairEntry): Document {
  return {
    _id: storedId(entry),
    uuid: entry.collection.uuid,
    id: new Binary(Buffer.concat([Buffer.from([entry.id.type]), entry.id.bytes])),
    reason: entry.reason,
  };
}
