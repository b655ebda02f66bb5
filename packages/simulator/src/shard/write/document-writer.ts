import { ObjectId } from 'bson';
import { ownCopy } from '../../bson/own-copy.js';
import { isStoredAsItIs, scanTopLevel, stampTimestamps, withIdFirst } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { UserWriteBlock } from '../../node/user-write-block.js';
import type { DocumentOperation, OplogOperation } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';
import type { TouchedDocument } from '../session/logical-session.js';
import type { MatchedRecord } from '../read/find-records.js';
import type { RunningTransaction } from '../session/running-transaction.js';
import type { Collection } from '../storage/collection.js';
import type { DocumentRecord } from '../storage/record.js';
import { LATEST, PENDING, type TimeKey, timestampOf } from '../storage/time-key.js';
import { Transaction } from '../storage/transaction.js';
import { HeldByTransaction, type WriteUnit } from '../storage/write-unit.js';
import { refuseInvalidId, refuseMixedSchema, refuseTooLargeWithKey } from './document-checks.js';

/** The origin of an update, as far as its change event depends on it. */
export interface UpdateOrigin {
  /** Operators of the update. Undefined for a replacement and for a pipeline. */
  readonly operators: Doc | undefined;
  readonly replacement: boolean;
  /** A replacement in its given order, where `_id` is not first: the oplog keeps the order, storage moves `_id`. */
  readonly given?: Uint8Array | undefined;
  /** The difference to log, instead of the computed one. */
  readonly diff?: Doc | undefined;
  /** A write of measurements, which the log names by `_id` alone. */
  readonly byId?: boolean | undefined;
}

/** Writes single documents to storage and oplog: at a new cluster time each, or within a running transaction. */
export class DocumentWriter {
  #last: TouchedDocument | undefined;
  /** Of the current write. */
  #time: TimeKey = 0;

  constructor(
    private readonly oplog: Oplog,
    private readonly writeBlock: UserWriteBlock,
    private readonly version: () => ServerVersion,
  ) {}

  /** The last document written outside of transactions: as stored, or as a delete found it. */
  get lastWritten(): TouchedDocument | undefined {
    return this.#last;
  }

  /**
   * Brings a client's document into its stored form: `_id` first and generated if missing, empty timestamps filled
   * unless the command forbids it.
   */
  prepareInsert(document: Uint8Array, keepEmptyTimestamps = false): Uint8Array {
    if (isStoredAsItIs(document)) return ownCopy(document);
    const withId = withIdFirst(document, () => new ObjectId());
    refuseInvalidId(withId);
    const stamped = keepEmptyTimestamps ? withId : this.stamp(withId);
    return ownCopy(stamped);
  }

  /** Fills empty timestamps in top-level fields. */
  stamp(document: Uint8Array): Uint8Array {
    return stampTimestamps(document, () => this.oplog.nextTime());
  }

  /**
   * Stores a prepared document. Separate operations, which streams show (since 5.0: SERVER-16049), delete what exceeds
   * the limits of a capped collection.
   * @throws CommandError 10334 for a document that does not fit into one entry together with its key (since 6.0)
   */
  insert(collection: Collection, document: Uint8Array, transaction: RunningTransaction | null): void {
    if (this.version().atLeast(6)) {
      refuseTooLargeWithKey(document, collection.target.shardKey);
      refuseMixedSchema(collection, document);
    }
    const unit = this.#begin(collection, transaction);
    collection.insert(document, unit);
    const { target } = collection;
    if (transaction !== null) transaction.operations.push({ kind: 'insert', target, document });
    else {
      this.oplog.appendInsert(this.#time, target, document);
      this.#last = { target, document };
    }
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
    if (this.version().atLeast(6)) refuseMixedSchema(collection, after);
    const unit = this.#begin(collection, transaction);
    const kept = ownCopy(after);
    collection.update(record, kept, unit);
    const { operators, replacement, given, diff, byId } = origin;
    const logged = given === undefined ? kept : ownCopy(given);
    this.#log(
      transaction,
      { kind: 'update', target: collection.target, before, after: logged, operators, replacement, diff, byId },
      kept,
    );
  }

  delete(
    collection: Collection,
    record: DocumentRecord,
    before: Uint8Array,
    transaction: RunningTransaction | null,
  ): void {
    const unit = this.#begin(collection, transaction);
    collection.delete(record, unit);
    this.#log(transaction, { kind: 'delete', target: collection.target, before }, before);
  }

  /**
   * Stores prepared documents at one time and in one entry, as 8.0 does with those of a command; none of them where one
   * cannot be stored.
   * @returns whether they are stored
   */
  insertTogether(collection: Collection, documents: readonly Uint8Array[]): boolean {
    const trial = new Transaction(LATEST);
    try {
      for (const document of documents) {
        refuseTooLargeWithKey(document, collection.target.shardKey);
        refuseMixedSchema(collection, document);
        collection.insert(document, { time: PENDING, transaction: trial });
      }
    } catch (error) {
      trial.rollBack();
      if (error instanceof CommandError || error instanceof HeldByTransaction) return false;
      throw error;
    }
    this.#begin(collection, null);
    trial.commit(this.#time);
    const { target } = collection;
    const operations = documents.map((document): OplogOperation => ({ kind: 'insert', target, document }));
    this.oplog.append(timestampOf(this.#time), operations);
    return true;
  }

  /** Remembers a document that was inserted with others as the last one written. */
  noteInserted(collection: Collection, document: Uint8Array): void {
    this.#last = { target: collection.target, document };
  }

  /** Deletes documents of no session, all at one time. @param isShown whether streams show the delete of a document */
  deleteTogether(
    collection: Collection,
    found: readonly MatchedRecord[],
    isShown: (found: MatchedRecord) => boolean,
  ): void {
    const unit = this.#begin(collection, null);
    for (const { record } of found) collection.delete(record, unit);
    const operations = found
      .filter(isShown)
      .map(({ bytes }): OplogOperation => ({ kind: 'delete', target: collection.target, before: bytes }));
    this.oplog.append(
      timestampOf(this.#time),
      operations.length > 0 ? operations : [{ kind: 'silent', note: new Map([['expired', collection.namespace]]) }],
    );
  }

  /** @throws CommandError 371 while user writes are blocked; 263 for a capped collection in a transaction */
  #begin(collection: Collection, transaction: RunningTransaction | null): WriteUnit {
    if (this.writeBlock.enabled) this.writeBlock.refuse(collection.db, collection.name);
    if (transaction !== null) {
      if (collection.cap !== undefined) throw cappedInTransaction(collection.namespace);
      return { time: PENDING, transaction: transaction.storage };
    }
    this.#time = this.oplog.nextKey();
    return { time: this.#time, transaction: null };
  }

  #log(transaction: RunningTransaction | null, operation: DocumentOperation, document: Uint8Array): void {
    if (transaction !== null) {
      transaction.operations.push(operation);
      return;
    }
    this.oplog.appendOne(this.#time, operation);
    this.#last = { target: operation.target, document };
  }
}

function cappedInTransaction(namespace: string): CommandError {
  const message =
    `Collection '${namespace}' is a capped collection. Writes in transactions are not allowed on capped ` +
    'collections.';
  return new CommandError(263, 'OperationNotSupportedInTransaction', message);
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
