import type { Transaction } from './transaction.js';
import type { TimeKey } from './time-key.js';

/** At which time and in which transaction a write happens. */
export interface WriteUnit {
  /** PENDING inside a transaction. */
  readonly time: TimeKey;
  readonly transaction: Transaction | null;
}

/** A document or index entry is held by a transaction that still runs. */
export class HeldByTransaction extends Error {
  constructor(readonly holder: Transaction) {
    super('held by a running transaction');
    this.name = 'HeldByTransaction';
  }
}
