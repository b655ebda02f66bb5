import type { TimeKey } from './time-key.js';

/** A transaction's change of one place of the storage, to be settled at its end. */
interface PendingChange {
  commit(time: TimeKey): void;
  rollBack(): void;
}

/** The storage side of a running multi-document transaction: its read time and its pending changes, in order. */
export class Transaction {
  readonly #changes: PendingChange[] = [];
  /** Index entries that this transaction has removed, which others still see. */
  readonly removedEntries = new Set<object>();
  /** Resolves when the transaction has been committed or rolled back. */
  readonly ended: Promise<void>;
  #end: () => void = () => undefined;

  constructor(readonly readTime: TimeKey) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  add(change: PendingChange): void {
    this.#changes.push(change);
  }

  commit(time: TimeKey): void {
    for (const change of this.#changes) change.commit(time);
    this.#finish();
  }

  /** Undoes everything, newest first. */
  rollBack(): void {
    for (const change of this.#changes.reverse()) change.rollBack();
    this.#finish();
  }

  #finish(): void {
    this.#changes.length = 0;
    this.#end();
  }
}
