import { Binary, type Long } from 'bson';
import { createHash } from 'node:crypto';
import type { Doc, Value } from '../../bson/value.js';
import { uuidText } from '../uuid-text.js';
import type { RunningTransaction } from './running-transaction.js';

/** What a retryable statement did, for answering its repetition. */
export interface StatementResult {
  readonly n: number;
  readonly nModified: number;
  readonly upsertedId: Value | undefined;
  /** The whole reply of a findAndModify. */
  readonly reply: Doc | undefined;
}

export type TransactionOutcome = 'none' | 'running' | 'committed' | 'aborted';

/** What a shard remembers of one logical session: its highest transaction number and what was done under it. */
export class LogicalSession {
  /** -1 before the first. */
  txnNumber = -1n;
  /** True when the number stands for a multi-document transaction. */
  isTransaction = false;
  outcome: TransactionOutcome = 'none';
  running: RunningTransaction | null = null;
  /** Results of the retryable statements under the present number, by statement id. */
  readonly statements = new Map<number, StatementResult>();
  lastUsedMs = 0;

  constructor(readonly identity: SessionIdentity) {}

  /** Begins a higher number; what was remembered of the old one is forgotten. */
  advance(txnNumber: Long, isTransaction: boolean): void {
    this.txnNumber = txnNumber.toBigInt();
    this.isTransaction = isTransaction;
    this.outcome = isTransaction ? 'running' : 'none';
    this.statements.clear();
  }
}

/** A session id as clients send it, completed with the user's digest. */
export class SessionIdentity {
  readonly key: string;

  private constructor(
    readonly id: Binary,
    readonly uid: Binary,
  ) {
    this.key = id.toString('hex') + uid.toString('hex');
  }

  /** @param lsid `{id, uid?}`; undefined when it is not one */
  static read(lsid: Value | undefined): SessionIdentity | undefined {
    if (!(lsid instanceof Map)) return undefined;
    const id = lsid.get('id');
    const uid = lsid.get('uid');
    if (!(id instanceof Binary)) return undefined;
    return new SessionIdentity(id, uid instanceof Binary ? uid : NOBODY);
  }

  /** `{id, uid}`, as change events show it. */
  toDoc(): Doc {
    return new Map<string, Value>([
      ['id', this.id],
      ['uid', this.uid],
    ]);
  }

  /** As messages show it: the UUID and the digest. */
  toString(): string {
    return `${uuidText(this.id.buffer)} - ${this.uid.toString('base64')}`;
  }
}

/** The digest of a client that has not logged in: SHA-256 of nothing. */
const NOBODY = new Binary(createHash('sha256').digest());
