import { Int32, Long, Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { failure } from '../failure.js';
import type { Oplog } from '../oplog/oplog.js';
import { timeKey } from '../storage/time-key.js';
import { LogicalSession, SessionIdentity, type StatementResult } from './logical-session.js';
import { RunningTransaction } from './running-transaction.js';

/** Sessions remembered at most; the longest unused go first. The server keeps one million. */
const SESSIONS_MAX = 100_000;
/** The server's `transactionLifetimeLimitSeconds`. */
const TRANSACTION_LIFETIME_MS = 60_000;

const RETRYABLE: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'findAndModify', 'findandmodify']);

/** How one command takes part in its session. */
export interface Participation {
  readonly session: LogicalSession | null;
  /** The multi-document transaction it belongs to. */
  readonly transaction: RunningTransaction | null;
  /** True for a retryable write. */
  readonly retryable: boolean;
}

const ALONE: Participation = { session: null, transaction: null, retryable: false };

/** The logical sessions of one shard. */
export class Sessions {
  readonly #sessions = new Map<string, LogicalSession>();

  constructor(
    private readonly oplog: Oplog,
    private readonly now: () => number,
  ) {}

  /** Registers a command with its session. Throws CommandError for a number or a transaction that cannot go on. */
  begin(request: CommandRequest): Participation {
    const { body } = request;
    const txnNumber = body.get('txnNumber');
    if (txnNumber === undefined) return ALONE;
    if (!isLong(txnNumber)) {
      const type = txnNumber instanceof Int32 ? 'int' : 'object';
      throw failure.typeMismatch(`BSON field 'OperationSessionInfo.txnNumber' is the wrong type '${type}', expected type 'long'`);
    }
    const identity = SessionIdentity.read(body.get('lsid'));
    if (identity === undefined) throw failure.invalidOptions('Transaction number requires a session ID to also be specified');
    const session = this.#session(identity);
    if (body.get('autocommit') === false) return this.#joinTransaction(session, txnNumber, body, request.name);
    return this.#joinRetryable(session, txnNumber, request.name);
  }

  commit(session: LogicalSession): void {
    if (session.running === null) return;
    session.running.commit(this.oplog);
    session.running = null;
    session.outcome = 'committed';
  }

  abort(session: LogicalSession): void {
    if (session.running === null) return;
    session.running.abort();
    session.running = null;
    session.outcome = 'aborted';
  }

  /** Aborts the running transactions of the given sessions (all of them for undefined); fences stay in place. */
  kill(identities: readonly SessionIdentity[] | undefined): void {
    const keys = identities?.map((identity) => identity.key) ?? [...this.#sessions.keys()];
    for (const key of keys) {
      const session = this.#sessions.get(key);
      if (session !== undefined) this.abort(session);
    }
  }

  /** Aborts transactions that have run too long. */
  expire(): void {
    const limit = this.now() - TRANSACTION_LIFETIME_MS;
    for (const session of this.#sessions.values()) {
      if (session.running !== null && session.running.startedMs < limit) this.abort(session);
    }
  }

  #session(identity: SessionIdentity): LogicalSession {
    const known = this.#sessions.get(identity.key);
    const session = known ?? new LogicalSession(identity);
    session.lastUsedMs = this.now();
    if (known !== undefined) return known;
    if (this.#sessions.size >= SESSIONS_MAX) this.#forgetOldest();
    this.#sessions.set(identity.key, session);
    return session;
  }

  #forgetOldest(): void {
    let oldest: [string, LogicalSession] | undefined;
    for (const entry of this.#sessions) {
      if (entry[1].running === null && (oldest === undefined || entry[1].lastUsedMs < oldest[1].lastUsedMs)) oldest = entry;
    }
    if (oldest !== undefined) this.#sessions.delete(oldest[0]);
  }

  #joinRetryable(session: LogicalSession, txnNumber: Long, name: string): Participation {
    if (!RETRYABLE.has(name)) {
      const message = `txnNumber may only be provided for multi-document transactions and retryable write commands. autocommit:false was not provided, and ${name} is not a retryable write command.`;
      throw new CommandError(50768, 'Location50768', message);
    }
    const number = txnNumber.toBigInt();
    if (number < session.txnNumber) throw tooOld('Retryable write with txnNumber', 'is prohibited', session, number);
    if (number > session.txnNumber) {
      this.abort(session);
      session.advance(txnNumber, false);
    }
    return { session, transaction: null, retryable: true };
  }

  #joinTransaction(session: LogicalSession, txnNumber: Long, body: Doc, name: string): Participation {
    const number = txnNumber.toBigInt();
    if (number < session.txnNumber) throw tooOld('Cannot start transaction', '', session, number);
    if (body.get('startTransaction') === true) {
      this.#start(session, txnNumber, body);
    } else if (number > session.txnNumber || !session.isTransaction) {
      throw noSuchTransaction(`Given transaction number ${number.toString()} does not match any in-progress transactions. The active transaction number is ${session.txnNumber.toString()}`);
    }
    const ending = name === 'commitTransaction' || name === 'abortTransaction';
    if (session.running === null && !ending) throw endedTransaction(session, number);
    return { session, transaction: session.running, retryable: false };
  }

  #start(session: LogicalSession, txnNumber: Long, body: Doc): void {
    if (txnNumber.toBigInt() === session.txnNumber && session.running !== null) {
      throw new CommandError(50911, 'Location50911', `Cannot start a transaction at given transaction number ${txnNumber.toString()} a transaction with the same number is in state TxnState::InProgress`);
    }
    this.abort(session);
    session.advance(txnNumber, true);
    const readConcern = body.get('readConcern');
    const at = readConcern instanceof Map ? readConcern.get('atClusterTime') : undefined;
    const readTime = at instanceof Timestamp ? timeKey(at) : this.oplog.lastKey;
    session.running = new RunningTransaction(session.identity, txnNumber, readTime, this.now());
  }
}

/** Statement ids of a write command: given by a router, else by position. */
export function statementIds(body: Doc): (index: number) => number {
  const ids = body.get('stmtIds');
  if (Array.isArray(ids)) return (index) => numberOf(ids[index]) ?? index;
  const first = numberOf(body.get('stmtId')) ?? 0;
  return (index) => first + index;
}

/** What was recorded of a retryable statement, if it was executed before. */
export function recordedResult(participation: Participation, statementId: number): StatementResult | undefined {
  return participation.retryable ? participation.session?.statements.get(statementId) : undefined;
}

function isLong(value: Value): value is Long {
  return value instanceof Long && !(value instanceof Timestamp);
}

function tooOld(what: string, verb: string, session: LogicalSession, number: bigint): CommandError {
  const newer = session.isTransaction ? 'transaction' : 'retryable write';
  const on = `${verb === '' ? '' : `${verb} `}on session ${session.identity.toString()}`;
  return new CommandError(
    225,
    'TransactionTooOld',
    `${what} ${number.toString()} ${on} because a newer ${newer} with txnNumber ${session.txnNumber.toString()} has already started on this session.`,
  );
}

function noSuchTransaction(message: string): CommandError {
  return new CommandError(251, 'NoSuchTransaction', message, ['TransientTransactionError']);
}

function endedTransaction(session: LogicalSession, number: bigint): CommandError {
  if (session.outcome === 'committed') {
    return new CommandError(256, 'TransactionCommitted', `Transaction with { txnNumber: ${number.toString()} } has been committed.`);
  }
  return noSuchTransaction(`Transaction with { txnNumber: ${number.toString()} } has been aborted.`);
}
