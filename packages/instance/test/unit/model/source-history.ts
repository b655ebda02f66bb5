import { compareRaw } from '../../../src/bson/order.js';
import { idClass } from '../../../src/bson/id.js';
import { findValue, readNumber, type RawValue } from '../../../src/bson/scan.js';
import { modelNamespace, modelUuid } from './change-events.js';
import { SourceCatalog } from './source-catalog.js';

/** A change event in the oplog of a shard; null: an entry that no stream shows. */
export interface OplogEntry {
  time: bigint;
  event: Buffer | null;
}

interface Version {
  time: bigint;
  document: Buffer | null;
  /** The number of insertions before that of this document: it keeps its record until it is deleted. */
  insertion: number;
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
  /** By collection and id class. */
  readonly #versions = new Map<string, Map<string, Version[]>>();
  /** The record number of each insertion on the present primary. */
  #records: number[] = [];
  /** The number of elections. */
  term = 1;

  constructor(readonly id: string) {}

  write(document: Buffer | null, idClassName: string, time: bigint, uuid = modelUuid): void {
    const collection = this.#versions.get(uuid) ?? new Map<string, Version[]>();
    this.#versions.set(uuid, collection);
    const versions = collection.get(idClassName) ?? [];
    const before = versions.at(-1);
    const isInsert = before === undefined || before.document === null;
    if (isInsert) this.#records.push(this.#records.length + 1);
    versions.push({ time, document, insertion: isInsert ? this.#records.length - 1 : before.insertion });
    collection.set(idClassName, versions);
  }

  /** The documents of a collection at a time, in order of `_id`. */
  readAt(time: bigint, uuid = modelUuid): Buffer[] {
    return this.#versionsAt(time, uuid)
      .map(({ document }) => document)
      .sort((a, b) => compareRaw(idOf(a), idOf(b)));
  }

  /** The documents of a collection at a time with their records, in the order of the present primary's records. */
  recordsAt(time: bigint, uuid = modelUuid): { record: number; document: Buffer }[] {
    return this.#versionsAt(time, uuid)
      .map(({ document, insertion }) => ({ record: this.#records[insertion] ?? 0, document }))
      .sort((a, b) => a.record - b.record);
  }

  /** Another primary has the same documents under the same numbers, but not in the same order. */
  elect(between: (min: number, max: number) => number): void {
    this.term += 1;
    const left = [...this.#records];
    this.#records = this.#records.flatMap(() => left.splice(between(0, left.length - 1), 1));
  }

  #versionsAt(time: bigint, uuid: string): { document: Buffer; insertion: number }[] {
    return [...(this.#versions.get(uuid)?.values() ?? [])].flatMap((versions) => {
      const { document = null, insertion = 0 } = versions.findLast((version) => version.time <= time) ?? {};
      return document === null ? [] : [{ document, insertion }];
    });
  }
}

/** The source cluster: documents with `sk < 0` live on the first shard, the others on the last. */
export class SourceHistory {
  readonly shards: SourceShard[];
  readonly catalog = new SourceCatalog();
  #now = modelStart;

  constructor(shards: number) {
    this.shards = Array.from({ length: shards }, (_, index) => new SourceShard(`shard${index}`));
    for (const shard of this.shards) this.note(shard);
    this.catalog.set(modelUuid, modelNamespace.name, this.#now);
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
  find(idClassName: string, uuid = modelUuid): Buffer[] {
    return this.readAt(this.#now, uuid).filter((document) => idClass(idOf(document), false) === idClassName);
  }

  readAt(time: bigint, uuid = modelUuid): Buffer[] {
    return this.shards.flatMap((shard) => shard.readAt(time, uuid));
  }

  /** Names and documents of all collections at a time. */
  stateAt(time: bigint): string[] {
    return this.catalog
      .namesAt(time)
      .flatMap(({ uuid, name }) => [
        name,
        ...this.readAt(time, uuid).map((document) => `${name} ${document.toString('hex')}`),
      ])
      .sort();
  }
}
