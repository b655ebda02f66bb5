import { compareRaw } from '../../../src/bson/compare.js';
import { idClass } from '../../../src/bson/id-class.js';
import { findValue, readNumber, type RawValue } from '../../../src/bson/scan.js';

/** A change event in the oplog of a shard; null: an entry that no stream shows. */
export interface OplogEntry {
  time: bigint;
  event: Buffer | null;
}

interface Version {
  time: bigint;
  document: Buffer | null;
}

/** Cluster time at which the model begins. */
export const modelStart = 1_700_000_000n << 32n;

export function idOf(document: Uint8Array): RawValue {
  const id = findValue(document, '_id');
  if (id === null) throw new Error('a document without _id');
  return id;
}

/** The shard key of the model's collection, an integer. */
export function keyOf(document: Uint8Array): number {
  const value = findValue(document, 'sk');
  if (value === null) throw new Error('a document without shard key');
  return readNumber(value.bytes, { type: value.type, start: 0, end: value.bytes.length });
}

/** One source shard: the oplog, and every version that every document ever had. */
export class SourceShard {
  readonly oplog: OplogEntry[] = [];
  readonly #versions = new Map<string, Version[]>();

  constructor(readonly id: string) {}

  write(document: Buffer | null, idClassName: string, time: bigint): void {
    const versions = this.#versions.get(idClassName) ?? [];
    versions.push({ time, document });
    this.#versions.set(idClassName, versions);
  }

  /** The documents of a time in order of `_id`. */
  readAt(time: bigint): Buffer[] {
    const documents = [...this.#versions.values()].flatMap((versions) => versions.findLast((version) => version.time <= time)?.document ?? []);
    return documents.sort((a, b) => compareRaw(idOf(a), idOf(b)));
  }
}

/** The source cluster: documents with `sk < 0` live on the first shard, the others on the last. */
export class SourceHistory {
  readonly shards: SourceShard[];
  #now = modelStart;

  constructor(shards: number) {
    this.shards = Array.from({ length: shards }, (_, index) => new SourceShard(`shard${index}`));
    for (const shard of this.shards) this.note(shard);
  }

  get now(): bigint {
    return this.#now;
  }

  tick(): bigint {
    this.#now += 1n;
    return this.#now;
  }

  /** An oplog entry without an event. */
  note(shard: SourceShard): bigint {
    const time = this.tick();
    shard.oplog.push({ time, event: null });
    return time;
  }

  shardOf(sk: number): SourceShard {
    const shard = sk < 0 ? this.shards[0] : this.shards.at(-1);
    if (shard === undefined) throw new Error('no shards');
    return shard;
  }

  /** The present documents of an id class, one per shard at most. */
  find(idClassName: string): Buffer[] {
    return this.readAt(this.#now).filter((document) => idClass(idOf(document), false) === idClassName);
  }

  readAt(time: bigint): Buffer[] {
    return this.shards.flatMap((shard) => shard.readAt(time));
  }
}
