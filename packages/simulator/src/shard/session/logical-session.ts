import type { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { EntryNamespace } from '../oplog/entry.js';
import type { RunningTransaction } from './running-transaction.js';
import type { SessionIdentity } from './session-identity.js';

/** A written document, and its collection. */
export interface TouchedDocument {
  readonly target: EntryNamespace;
  /** As it was after the write; before it for a delete. */
  readonly document: Uint8Array;
}

/** The result of a retryable statement, with which its repetition is answered. */
export interface StatementResult {
  /** The command that it was a statement of. */
  readonly by: string;
  readonly n: number;
  readonly nModified: number;
  readonly upsertedId: Value | undefined;
  /** The whole reply of a findAndModify. */
  readonly reply: Doc | undefined;
  /** The document that a findAndModify answers with. */
  readonly shows?: 'before' | 'after' | 'removed';
  /** The written document, so that the record moves with the document's chunk. */
  readonly touched?: TouchedDocument | undefined;
}

type TransactionOutcome = 'none' | 'running' | 'committed' | 'aborted';

/** The record of one logical session: its highest transaction number and what was done under it. */
export class LogicalSession {
  /** -1 before the first. */
  txnNumber = -1n;
  /** True when the number stands for a multi-document transaction. */
  isTransaction = false;
  outcome: TransactionOutcome = 'none';
  running: RunningTransaction | null = null;
  /** Results of the retryable statements under the current number, by statement id. */
  statements: Map<number, StatementResult> = new Map<number, StatementResult>();
  /** The highest number below the current one under which something was written, with its record. */
  #written: WrittenNumber | undefined;
  lastUsedMs = 0;

  constructor(readonly identity: SessionIdentity) {}

  /** Starts a higher number, and drops the record of the old one. */
  advance(txnNumber: Long, isTransaction: boolean): void {
    if (this.#isWritten)
      this.#written = {
        txnNumber: this.txnNumber,
        isTransaction: this.isTransaction,
        outcome: this.outcome,
        statements: this.statements,
      };
    this.txnNumber = txnNumber.toBigInt();
    this.isTransaction = isTransaction;
    this.outcome = isTransaction ? 'running' : 'none';
    this.statements = new Map();
  }

  /** Returns to the last number under which something was written: the others were in memory only. */
  forgetVolatile(): void {
    if (this.#isWritten) return;
    const { txnNumber, isTransaction, outcome, statements } = this.#written ?? {
      txnNumber: -1n,
      isTransaction: false,
      outcome: 'none',
      statements: new Map<number, StatementResult>(),
    };
    this.txnNumber = txnNumber;
    this.isTransaction = isTransaction;
    this.outcome = outcome;
    this.statements = statements;
  }

  get #isWritten(): boolean {
    return this.statements.size > 0 || this.outcome === 'committed';
  }
}

/** The state of a number of a session. */
interface WrittenNumber {
  readonly txnNumber: bigint;
  readonly isTransaction: boolean;
  readonly outcome: TransactionOutcome;
  readonly statements: Map<number, StatementResult>;
}
