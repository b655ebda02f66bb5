import type { Long } from 'bson';
import type { DocumentOperation, EntryTransaction } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';
import type { ReadView } from '../storage/record.js';
import { timeKey, type TimeKey } from '../storage/time-key.js';
import { Transaction } from '../storage/transaction.js';
import type { SessionIdentity } from './logical-session.js';

/** A multi-document transaction of a session on this shard while it runs. */
export class RunningTransaction {
  readonly storage: Transaction;
  /** What it did, in order; becomes one oplog entry. */
  readonly operations: DocumentOperation[] = [];
  readonly startedMs: number;

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

  /** Makes everything visible at one new cluster time. A transaction that wrote nothing leaves no entry. */
  commit(oplog: Oplog): void {
    if (this.operations.length === 0) {
      this.storage.commit(oplog.lastKey);
      return;
    }
    const clusterTime = oplog.nextTime();
    this.storage.commit(timeKey(clusterTime));
    const identity: EntryTransaction = { lsid: this.session.toDoc(), txnNumber: this.txnNumber };
    oplog.append(clusterTime, this.operations, identity);
  }

  abort(): void {
    this.storage.rollBack();
  }
}
