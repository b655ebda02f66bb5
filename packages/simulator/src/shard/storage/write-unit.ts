import type { Transaction } from './transaction.js';
import type { TimeKey } from './time-key.js';

/** The time and the transaction of a write. */
export interface WriteUnit {
  /** PENDING inside a transaction. */
  readonly time: TimeKey;
  readonly transaction: Transaction | null;
}

/** A running transaction holds a document or index entry. */
export class HeldByTransaction extends Error {
  constructor(readonly holder: Transaction) {
    super('held by a running transaction');
    this.name = 'HeldByTransaction';
  }
}
