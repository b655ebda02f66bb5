import { type Side, sides } from '../compare/sides.js';
import { lookupName } from '../compare/find-documents.js';
import type { RawValue } from '../../bson/scan.js';

/** A key that was written since it was compared. */
export interface TouchedKey {
  readonly key: string;
  readonly id: RawValue;
  readonly idClass: string;
  /** The first and the last write on each side since the latest check; null: none. */
  first: Record<Side, bigint | null>;
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
      (known.meanwhile ?? known.first)[side] ??= time;
      if (known.last[side] < time) known.last[side] = time;
      return;
    }
    const bytes = entryBytes + id.bytes.length * 3;
    keys.set(idClass, {
      key,
      id,
      idClass,
      first: { source: null, destination: null, [side]: time },
      last: { source: 0n, destination: 0n, [side]: time },
      notBefore_ms,
      appliedFrom: side === 'source' ? time : 0n,
      looks: 0,
      meanwhile: null,
      bytes,
    });
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
    for (const side of sides) touched.first[side] ??= touched.meanwhile?.[side] ?? null;
    touched.meanwhile = { source: null, destination: null };
  }

  /** Returns a key for another check. */
  keep(touched: TouchedKey, notBefore_ms: number, appliedFrom: bigint): void {
    for (const side of sides) touched.first[side] ??= touched.meanwhile?.[side] ?? null;
    touched.meanwhile = null;
    touched.looks += 1;
    touched.notBefore_ms = notBefore_ms;
    if (touched.appliedFrom < appliedFrom) touched.appliedFrom = appliedFrom;
  }

  /** Removes a checked key, unless it was written in the meantime. */
  done(touched: TouchedKey, notBefore_ms: number): void {
    const { meanwhile } = touched;
    const keys = this.#collections.get(touched.key);
    if (keys?.get(touched.idClass) !== touched) return;
    if (meanwhile !== null && (meanwhile.source !== null || meanwhile.destination !== null)) {
      touched.first = meanwhile;
      touched.meanwhile = null;
      touched.looks = 0;
      touched.notBefore_ms = notBefore_ms;
      if (meanwhile.source !== null && touched.appliedFrom < meanwhile.source) touched.appliedFrom = meanwhile.source;
      return;
    }
    keys.delete(touched.idClass);
    if (keys.size === 0) this.#collections.delete(touched.key);
    this.#bytes -= touched.bytes;
    this.#size -= 1;
  }

  /** Removes all keys of a collection. */
  forget(key: string): void {
    for (const touched of this.#collections.get(key)?.values() ?? []) {
      this.#bytes -= touched.bytes;
      this.#size -= 1;
    }
    this.#collections.delete(key);
  }

  /** The earliest write of all keys on a side; null if there is none. */
  oldest(side: Side): bigint | null {
    let oldest: bigint | null = null;
    for (const keys of this.#collections.values()) {
      for (const { first } of keys.values()) {
        const time = first[side];
        if (time !== null && (oldest === null || time < oldest)) oldest = time;
      }
    }
    return oldest;
  }

  #keysOf(key: string): Map<string, TouchedKey> {
    const known = this.#collections.get(key);
    if (known !== undefined) return known;
    const keys = new Map<string, TouchedKey>();
    this.#collections.set(key, keys);
    return keys;
  }
}
