import { secondsOf } from '../../cluster/cluster-time.js';
import { type Side, sides } from '../compare/sides.js';
import { lookupName } from '../compare/find-documents.js';
import type { RawValue } from '../../bson/scan.js';

/** A key that was written since it was compared. */
export interface TouchedKey {
  readonly key: string;
  readonly id: RawValue;
  readonly idClass: string;
  /** The first and the last write on each side since the latest check; null: none. */
  readonly first: Record<Side, bigint | null>;
  readonly last: Record<Side, bigint>;
  /**
   * Not checked before this moment of the monotonic clock, nor before everything up to this time of the source is
   * applied.
   */
  notBefore_ms: number;
  appliedFrom: bigint;
  looks: number;
  /** The first write since the current check started; null: no check is running. */
  meanwhile: Record<Side, bigint | null> | null;
  bytes: number;
}

/** Approximate memory of a key besides its bytes. */
const entryBytes = 600;

/** The written keys of some collections that must still be checked. Adding waits while there are too many. */
export class TouchedKeys {
  readonly #collections = new Map<string, Map<string, TouchedKey>>();
  readonly #firstWrites = { source: new FirstWrites('source'), destination: new FirstWrites('destination') };
  #bytes = 0;
  #size = 0;

  constructor(private readonly bytesMax: number) {}

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#bytes >= this.bytesMax;
  }

  add(side: Side, key: string, id: RawValue, time: bigint, notBefore_ms: number): void {
    const idClass = lookupName(id);
    const keys = this.#keysOf(key);
    const known = keys.get(idClass);
    if (known !== undefined) {
      // A key that is written all the time would never be checked if each write delayed it again.
      if (side === 'source' && known.meanwhile === null && known.first.source === null && known.appliedFrom < time)
        known.appliedFrom = time;
      if (known.meanwhile !== null) known.meanwhile[side] ??= time;
      else this.#firstWrites[side].note(known, time);
      if (known.last[side] < time) known.last[side] = time;
      return;
    }
    const bytes = entryBytes + id.bytes.length * 3;
    const touched: TouchedKey = {
      key,
      id,
      idClass,
      first: { source: null, destination: null },
      last: { source: 0n, destination: 0n, [side]: time },
      notBefore_ms,
      appliedFrom: side === 'source' ? time : 0n,
      looks: 0,
      meanwhile: null,
      bytes,
    };
    keys.set(idClass, touched);
    this.#firstWrites[side].note(touched, time);
    this.#bytes += bytes;
    this.#size += 1;
  }

  /** Some keys of one collection for which the condition holds, the oldest first. */
  some(limit: number, condition: (key: TouchedKey) => boolean): TouchedKey[] {
    for (const keys of this.#collections.values()) {
      const found: TouchedKey[] = [];
      for (const key of keys.values()) {
        if (condition(key)) found.push(key);
        if (found.length >= limit) break;
      }
      if (found.length > 0) return found;
    }
    return [];
  }

  /** Starts the check of a key. */
  begin(touched: TouchedKey): void {
    // An earlier check may have been interrupted.
    this.#noteMeanwhile(touched);
    touched.meanwhile = { source: null, destination: null };
  }

  /** Returns a key for another check. */
  keep(touched: TouchedKey, notBefore_ms: number, appliedFrom: bigint): void {
    if (!this.#has(touched)) return;
    this.#noteMeanwhile(touched);
    touched.looks += 1;
    touched.notBefore_ms = notBefore_ms;
    if (touched.appliedFrom < appliedFrom) touched.appliedFrom = appliedFrom;
  }

  /** Removes a checked key, unless it was written in the meantime. */
  done(touched: TouchedKey, notBefore_ms: number): void {
    const { meanwhile } = touched;
    if (!this.#has(touched)) return;
    for (const side of sides) this.#firstWrites[side].forget(touched);
    if (meanwhile !== null && (meanwhile.source !== null || meanwhile.destination !== null)) {
      this.#noteMeanwhile(touched);
      touched.looks = 0;
      touched.notBefore_ms = notBefore_ms;
      if (meanwhile.source !== null && touched.appliedFrom < meanwhile.source) touched.appliedFrom = meanwhile.source;
      return;
    }
    const keys = this.#keysOf(touched.key);
    keys.delete(touched.idClass);
    if (keys.size === 0) this.#collections.delete(touched.key);
    this.#bytes -= touched.bytes;
    this.#size -= 1;
  }

  /** Removes all keys of a collection. */
  forget(key: string): void {
    for (const touched of this.#collections.get(key)?.values() ?? []) {
      for (const side of sides) this.#firstWrites[side].forget(touched);
      this.#bytes -= touched.bytes;
      this.#size -= 1;
    }
    this.#collections.delete(key);
  }

  /** A time at most a second before the earliest write of all keys on a side; null if there is none. */
  oldest(side: Side): bigint | null {
    return this.#firstWrites[side].earliest();
  }

  /** Whether a key still waits: its collection may have been forgotten while it was checked. */
  #has(touched: TouchedKey): boolean {
    return this.#collections.get(touched.key)?.get(touched.idClass) === touched;
  }

  /** What was written while a check ran counts from now on. */
  #noteMeanwhile(touched: TouchedKey): void {
    const { meanwhile } = touched;
    touched.meanwhile = null;
    for (const side of sides) {
      const time = meanwhile?.[side] ?? null;
      if (time !== null) this.#firstWrites[side].note(touched, time);
    }
  }

  #keysOf(key: string): Map<string, TouchedKey> {
    const known = this.#collections.get(key);
    if (known !== undefined) return known;
    const keys = new Map<string, TouchedKey>();
    this.#collections.set(key, keys);
    return keys;
  }
}

/** How many keys have their first write on one side in each second: the earliest is found without a look at all. */
class FirstWrites {
  readonly #bySecond = new Map<number, number>();

  constructor(private readonly side: Side) {}

  /** Notes a key's first write; it keeps an earlier one. */
  note(touched: TouchedKey, time: bigint): void {
    if (touched.first[this.side] !== null) return;
    touched.first[this.side] = time;
    this.#add(secondsOf(time), 1);
  }

  /** The key has no write any more. */
  forget(touched: TouchedKey): void {
    const time = touched.first[this.side];
    if (time === null) return;
    touched.first[this.side] = null;
    this.#add(secondsOf(time), -1);
  }

  #add(second: number, keys: 1 | -1): void {
    const count = (this.#bySecond.get(second) ?? 0) + keys;
    if (count === 0) this.#bySecond.delete(second);
    else this.#bySecond.set(second, count);
  }

  /** The beginning of the second of the earliest first write; null if there is none. */
  earliest(): bigint | null {
    let earliest = Infinity;
    for (const second of this.#bySecond.keys()) if (second < earliest) earliest = second;
    return earliest === Infinity ? null : BigInt(earliest) << 32n;
  }
}
