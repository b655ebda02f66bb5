import { ObjectId } from 'bson';
import { scanTopLevel, stampTimestamps, withIdFirst } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import type { UserWriteBlock } from '../../node/user-write-block.js';
import type { DocumentOperation } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';
import type { TouchedDocument } from '../session/logical-session.js';
import type { RunningTransaction } from '../session/running-transaction.js';
import type { Collection } from '../storage/collection.js';
import type { DocumentRecord } from '../storage/record.js';
import { PENDING, timeKey } from '../storage/time-key.js';
import type { WriteUnit } from '../storage/write-unit.js';
import { refuseInvalidId } from './document-checks.js';

/** How an update came about, as far as its change event depends on it. */
export interface UpdateOrigin {
  /** Operators of the update; undefined for a replacement and for a pipeline. */
  readonly operators: Doc | undefined;
  readonly replacement: boolean;
}

/** Writes single documents to storage and oplog: at a new cluster time each, or within a running transaction. */
export class DocumentWriter {
  #last: DocumentOperation | undefined;

  constructor(
    private readonly oplog: Oplog,
    private readonly writeBlock: UserWriteBlock,
  ) {}

  /** The document that was written last outside of transactions: as it is, or as a delete found it. */
  get lastWritten(): TouchedDocument | undefined {
    const last = this.#last;
    if (last === undefined) return undefined;
    const namespace = `${last.target.db}.${last.target.collection}`;
    if (last.kind === 'insert') return { namespace, document: last.document };
    return { namespace, document: last.kind === 'update' ? last.after : last.before };
  }

  /** Brings a client's document into the form it is stored in: `_id` first and made if missing, empty timestamps filled unless they are to be kept. */
  prepareInsert(document: Uint8Array, keepEmptyTimestamps = false): Uint8Array {
    const withId = withIdFirst(document, () => new ObjectId());
    refuseInvalidId(withId);
    const stamped = keepEmptyTimestamps ? withId : this.stamp(withId);
    return stamped === document ? Buffer.from(document) : stamped;
  }

  /** Fills empty timestamps in top-level fields. */
  stamp(document: Uint8Array): Uint8Array {
    return stampTimestamps(document, () => this.oplog.nextTime());
  }

  /**
   * Stores a prepared document. What has to make room for it in a capped collection is deleted by operations of its own,
   * which streams show (since 5.0: SERVER-16049).
   */
  insert(collection: Collection, document: Uint8Array, transaction: RunningTransaction | null): void {
    this.#write(collection, transaction, (unit) => {
      collection.insert(document, unit);
      return { kind: 'insert', target: collection.target, document };
    });
    for (let oldest = collection.oldestBeyondCap(); oldest !== null; oldest = collection.oldestBeyondCap()) {
      this.delete(collection, oldest.record, oldest.bytes, transaction);
    }
  }

  update(
    collection: Collection,
    record: DocumentRecord,
    before: Uint8Array,
    after: Uint8Array,
    origin: UpdateOrigin,
    transaction: RunningTransaction | null,
  ): void {
    this.#write(collection, transaction, (unit) => {
      collection.update(record, after, unit);
      return { kind: 'update', target: collection.target, before, after, operators: origin.operators, replacement: origin.replacement };
    });
  }

  delete(collection: Collection, record: DocumentRecord, before: Uint8Array, transaction: RunningTransaction | null): void {
    this.#write(collection, transaction, (unit) => {
      collection.delete(record, unit);
      return { kind: 'delete', target: collection.target, before };
    });
  }

  /** @throws CommandError 371 while user writes are blocked */
  #write(collection: Collection, transaction: RunningTransaction | null, write: (unit: WriteUnit) => DocumentOperation): void {
    if (this.writeBlock.enabled) this.writeBlock.refuse(collection.db, collection.name);
    if (transaction !== null) {
      transaction.operations.push(write({ time: PENDING, transaction: transaction.storage }));
      return;
    }
    const clusterTime = this.oplog.nextTime();
    const operation = write({ time: timeKey(clusterTime), transaction: null });
    this.oplog.append(clusterTime, [operation]);
    this.#last = operation;
  }
}

/** True when both documents hold the same bytes in these top-level fields. */
export function sameFields(a: Uint8Array, b: Uint8Array, names: readonly string[]): boolean {
  return names.every((name) => {
    const inA = scanTopLevel(a, name);
    const inB = scanTopLevel(b, name);
    if (inA === undefined || inB === undefined) return inA === inB;
    return Buffer.compare(a.subarray(inA.start, inA.end), b.subarray(inB.start, inB.end)) === 0;
  });
}
