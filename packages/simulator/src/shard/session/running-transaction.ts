import { Long, type Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { EntryTransaction, TransactionOperation } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';
import {
  writePrepared,
  writePreparedAbort,
  writePreparedCommit,
  writeTransaction,
  type PreparedEntries,
} from '../oplog/transaction-entries.js';
import type { ReadView } from '../storage/record.js';
import { timeKey, type TimeKey } from '../storage/time-key.js';
import type { CreatedCollections } from '../storage/catalog.js';
import { Transaction } from '../storage/transaction.js';
import type { SessionIdentity } from './session-identity.js';

/** A multi-document transaction of a session on this shard while it runs. */
export class RunningTransaction {
  readonly storage: Transaction;
  /** Its operations, in order. They become one oplog entry, or several when it is large. */
  readonly operations: TransactionOperation[] = [];
  /** The collections that it created, by namespace. Others see them after the commit. */
  readonly created: CreatedCollections = new Map();
  /** The namespaces that its statements named. */
  readonly used = new Set<string>();
  readonly startedMs: number;
  #prepared: PreparedEntries | undefined;
  #preparedMs = 0;

  constructor(
    private readonly session: SessionIdentity,
    private readonly txnNumber: Long,
    readTime: TimeKey,
    now: number,
  ) {
    this.storage = new Transaction(readTime);
    this.startedMs = now;
  }

  get view(): ReadView {
    return { time: this.storage.readTime, transaction: this.storage };
  }

  /** When it was prepared. Undefined while it still runs. From then on this shard does not decide alone. */
  get prepareTime(): Timestamp | undefined {
    return this.#prepared?.prepareTime;
  }

  /** As `$currentOp` shows it, between its statements too (server source: `reportStashedState`). */
  shown(now_ms: number): Doc {
    const parameters = new Map<string, Value>([
      ['txnNumber', this.txnNumber],
      ['autocommit', false],
    ]);
    const transaction = new Map<string, Value>([
      ['parameters', parameters],
      ['timeOpenMicros', Long.fromNumber((now_ms - this.startedMs) * 1000)],
    ]);
    if (this.#prepared !== undefined)
      transaction.set('timePreparedMicros', Long.fromNumber((now_ms - this.#preparedMs) * 1000));
    return new Map<string, Value>([
      ['lsid', this.session.toDoc()],
      ['transaction', transaction],
    ]);
  }

  /** Logs everything without making it visible. @returns the time from which on it may become visible */
  prepare(oplog: Oplog, now_ms: number): Timestamp {
    if (this.#prepared === undefined) this.#preparedMs = now_ms;
    this.#prepared ??= writePrepared(oplog, this.operations, this.#identity);
    return this.#prepared.prepareTime;
  }

  /**
   * Makes everything visible at once. A transaction without writes leaves no entry.
   * @param commitTime of a prepared transaction: when, the same on all shards
   */
  commit(oplog: Oplog, commitTime?: Timestamp): void {
    if (this.#prepared !== undefined) {
      writePreparedCommit(oplog, this.#prepared, commitTime ?? this.#prepared.prepareTime);
      this.storage.commit(timeKey(commitTime ?? this.#prepared.prepareTime));
      return;
    }
    if (this.operations.length === 0) {
      this.storage.commit(oplog.lastKey);
      return;
    }
    this.storage.commit(timeKey(writeTransaction(oplog, this.operations, this.#identity)));
  }

  abort(oplog: Oplog): void {
    if (this.#prepared !== undefined) writePreparedAbort(oplog, this.#prepared);
    this.storage.rollBack();
  }

  get #identity(): EntryTransaction {
    return { lsid: this.session.toDoc(), txnNumber: this.txnNumber };
  }
}
