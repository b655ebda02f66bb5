import { Int32, Long, Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import type { Oplog } from '../oplog/oplog.js';
import { timeKey, type TimeKey } from '../storage/time-key.js';
import type { SessionRecord } from '../shard-access.js';
import { LogicalSession, type StatementResult, type TouchedDocument } from './logical-session.js';
import { SessionIdentity } from './session-identity.js';
import { RunningTransaction } from './running-transaction.js';
import { ENDING_COMMANDS, refuseTransactionFields } from './transaction-rules.js';

/** Bound of recorded sessions. The least recently used go first. The server keeps one million. */
const SESSIONS_MAX = 100_000;
const RETRYABLE: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'findAndModify']);

/** The part that one command takes in its session. */
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
  readonly #prepared = new Set<RunningTransaction>();

  constructor(
    private readonly oplog: Oplog,
    private readonly now: () => number,
    private readonly version: ServerVersion,
  ) {}

  /** Milliseconds that a transaction may run (`transactionLifetimeLimitSeconds`). */
  transactionLifetimeMs = 60_000;

  /** Registers a command with its session. @throws CommandError for a number or a transaction that cannot continue */
  begin(request: CommandRequest): Participation {
    const { body } = request;
    const txnNumber = body.get('txnNumber');
    if (txnNumber === undefined) return ALONE;
    if (!isLong(txnNumber)) {
      const type = txnNumber instanceof Int32 ? 'int' : 'object';
      throw failure.typeMismatch(
        `BSON field 'OperationSessionInfo.txnNumber' is the wrong type '${type}', expected type 'long'`,
      );
    }
    const identity = SessionIdentity.read(body.get('lsid'));
    if (identity === undefined)
      throw failure.invalidOptions('Transaction number requires a session ID to also be specified');
    const session = this.#session(identity);
    if (body.get('autocommit') === false) return this.#joinTransaction(session, txnNumber, body, request.name);
    return this.#joinRetryable(session, txnNumber, request.name);
  }

  /** @param commitTime of a prepared transaction: when it becomes visible on all shards */
  commit(session: LogicalSession, commitTime?: Timestamp): void {
    const { running } = session;
    if (running === null) return;
    running.commit(this.oplog, commitTime);
    this.#prepared.delete(running);
    session.running = null;
    session.outcome = 'committed';
  }

  /** Prepares the running transaction of a session. @returns its prepare time */
  prepare(running: RunningTransaction): Timestamp {
    const prepareTime = running.prepare(this.oplog, this.now());
    this.#prepared.add(running);
    return prepareTime;
  }

  /**
   * Resolves when no transaction is prepared that a read at this time would have to show. Undefined when there is none.
   */
  preparedUpTo(time: TimeKey): Promise<unknown> | undefined {
    const undecided = [...this.#prepared].filter(
      ({ prepareTime }) => prepareTime !== undefined && timeKey(prepareTime) <= time,
    );
    return undecided.length === 0 ? undefined : Promise.all(undecided.map(({ storage }) => storage.ended));
  }

  abort(session: LogicalSession): void {
    const { running } = session;
    if (running === null) return;
    running.abort(this.oplog);
    this.#prepared.delete(running);
    session.running = null;
    session.outcome = 'aborted';
  }

  /** Aborts the running transactions of the given sessions (all of them for undefined). Fences stay. */
  kill(identities: readonly SessionIdentity[] | undefined): void {
    const keys = identities?.map((identity) => identity.key) ?? [...this.#sessions.keys()];
    for (const key of keys) {
      const session = this.#sessions.get(key);
      if (session?.running?.prepareTime === undefined && session !== undefined) this.abort(session);
    }
  }

  /** The records of retryable statements whose document `wanted` accepts. */
  records(wanted: (touched: TouchedDocument) => boolean): SessionRecord[] {
    const found: SessionRecord[] = [];
    for (const { identity, txnNumber, statements } of this.#sessions.values()) {
      for (const [statementId, result] of statements) {
        if (result.touched !== undefined && wanted(result.touched))
          found.push({ lsid: identity.toDoc(), txnNumber, statementId, result });
      }
    }
    return found;
  }

  /** Adds the records of another shard, whose documents come here. Records older than this shard's own are skipped. */
  receive(records: readonly SessionRecord[]): void {
    for (const { lsid, txnNumber, statementId, result } of records) {
      const identity = SessionIdentity.read(lsid);
      if (identity === undefined) continue;
      const session = this.#session(identity);
      if (txnNumber < session.txnNumber) continue;
      if (txnNumber > session.txnNumber) {
        this.abort(session);
        session.advance(Long.fromBigInt(txnNumber), false);
      }
      if (!session.statements.has(statementId)) session.statements.set(statementId, result);
    }
  }

  /** The running transactions that wrote to a collection. */
  runningOn(db: string, collection: string): RunningTransaction[] {
    const wrote = ({ operations }: RunningTransaction): boolean =>
      operations.some(({ target }) => target.db === db && target.collection === collection);
    return [...this.#sessions.values()].flatMap(({ running }) => (running !== null && wrote(running) ? [running] : []));
  }

  /** Every running transaction, prepared ones too. */
  get running(): RunningTransaction[] {
    return [...this.#sessions.values()].flatMap(({ running }) => running ?? []);
  }

  /** Drops what is in memory only: running transactions that are not prepared, and numbers without writes. */
  forgetVolatile(): void {
    for (const session of this.#sessions.values()) {
      if (session.running?.prepareTime !== undefined) continue;
      this.abort(session);
      session.forgetVolatile();
    }
  }

  /** Aborts transactions that exceed their lifetime. */
  expire(): void {
    const limit = this.now() - this.transactionLifetimeMs;
    for (const session of this.#sessions.values()) {
      const { running } = session;
      if (running !== null && running.prepareTime === undefined && running.startedMs <= limit) this.abort(session);
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
      if (entry[1].running === null && (oldest === undefined || entry[1].lastUsedMs < oldest[1].lastUsedMs))
        oldest = entry;
    }
    if (oldest !== undefined) this.#sessions.delete(oldest[0]);
  }

  #joinRetryable(session: LogicalSession, txnNumber: Long, name: string): Participation {
    if (!RETRYABLE.has(name)) {
      const message =
        'txnNumber may only be provided for multi-document transactions and retryable write commands. ' +
        `autocommit:false was not provided, and ${name} is not a retryable write command.`;
      throw new CommandError(50768, 'Location50768', message);
    }
    const number = txnNumber.toBigInt();
    if (number < session.txnNumber)
      throw tooOld('Retryable write with txnNumber', 'is prohibited', session, number, this.version);
    if (number > session.txnNumber) {
      this.abort(session);
      session.advance(txnNumber, false);
    } else if (session.isTransaction) {
      throw new CommandError(
        217,
        'IncompleteTransactionHistory',
        'Cannot retry a retryable write that has been converted into a transaction',
      );
    }
    return { session, transaction: null, retryable: true };
  }

  #joinTransaction(session: LogicalSession, txnNumber: Long, body: Doc, name: string): Participation {
    const number = txnNumber.toBigInt();
    if (number < session.txnNumber) throw tooOldTransaction(session, number, this.version);
    refuseTransactionFields(body, name);
    if (body.get('startTransaction') === true) {
      this.#start(session, txnNumber, body);
    } else if (number > session.txnNumber || !session.isTransaction) {
      throw noSuchTransaction(
        `Given transaction number ${number.toString()} does not match any in-progress transactions. The active ` +
          `transaction number is ${session.txnNumber.toString()}`,
      );
    }
    const ending = ENDING_COMMANDS.has(name);
    if (session.running === null && !ending) throw endedTransaction(session, number, this.version);
    if (session.running?.prepareTime !== undefined && !ending) {
      throw new CommandError(
        267,
        'PreparedTransactionInProgress',
        `Cannot run operations on a transaction that has been prepared: { txnNumber: ${number.toString()} }`,
      );
    }
    return { session, transaction: session.running, retryable: false };
  }

  #start(session: LogicalSession, txnNumber: Long, body: Doc): void {
    if (
      txnNumber.toBigInt() === session.txnNumber &&
      (session.isTransaction ? session.outcome !== 'aborted' : session.statements.size > 0)
    ) {
      throw new CommandError(
        50911,
        'Location50911',
        `Cannot start a transaction at given transaction number ${txnNumber.toString()} a transaction with the ` +
          `same number is in state ${stateName(session)}`,
      );
    }
    this.abort(session);
    session.advance(txnNumber, true);
    const readConcern = body.get('readConcern');
    const at = readConcern instanceof Map ? readConcern.get('atClusterTime') : undefined;
    const readTime = at instanceof Timestamp ? timeKey(at) : this.oplog.lastKey;
    session.running = new RunningTransaction(session.identity, txnNumber, readTime, this.now());
  }
}

function stateName({ outcome }: LogicalSession): string {
  const names = { none: 'RetryableWrite', running: 'InProgress', committed: 'Committed', aborted: 'Aborted' };
  return `TxnState::${names[outcome]}`;
}

/** Statement ids of a write command: given by a router, else by position. */
export function statementIds(body: Doc): (index: number) => number {
  const ids = body.get('stmtIds');
  if (Array.isArray(ids)) return (index) => numberOf(ids[index]) ?? index;
  const first = numberOf(body.get('stmtId')) ?? 0;
  return (index) => first + index;
}

/** Commands that servers answer only from records of the same command. They answer the others from any. */
const ownKind: ReadonlySet<string> = new Set(['update', 'findAndModify']);

/**
 * The record of a retryable statement that was executed before.
 * @throws CommandError 115 where another command was sent under its number: servers refuse with the entry of their
 * oplog
 */
export function recordedResult(
  participation: Participation,
  statementId: number,
  command: string,
): StatementResult | undefined {
  const recorded = participation.retryable ? participation.session?.statements.get(statementId) : undefined;
  if (recorded !== undefined && recorded.by !== command && ownKind.has(command))
    throw unsimulated(`${command} under the number of another command`);
  return recorded;
}

function isLong(value: Value): value is Long {
  return value instanceof Long && !(value instanceof Timestamp);
}

function tooOldTransaction(session: LogicalSession, number: bigint, version: ServerVersion): CommandError {
  if (!version.atLeast(8, 0)) return tooOld('Cannot start transaction', '', session, number, version);
  const newer = session.isTransaction ? 'transaction' : 'retryable write';
  const retries = session.isTransaction ? 0 : -1;
  return new CommandError(
    225,
    'TransactionTooOld',
    `Cannot start transaction with { txnNumber: ${number.toString()} } on session ` +
      `${session.identity.toString()} -  -  because a newer ${newer} with txnNumberAndRetryCounter ` +
      `{ txnNumber: ${session.txnNumber.toString()}, txnRetryCounter: ${retries} } ` +
      `has already started on this session.`,
  );
}

/** 8.0.10 leaves room for two more parts of a session's identity, which users' sessions do not have. */
function tooOld(
  what: string,
  verb: string,
  session: LogicalSession,
  number: bigint,
  version: ServerVersion,
): CommandError {
  const newer = session.isTransaction ? 'transaction' : 'retryable write';
  const more = version.atLeast(8, 0) ? ' -  - ' : '';
  const on = `${verb === '' ? '' : `${verb} `}on session ${session.identity.toString()}${more}`;
  return new CommandError(
    225,
    'TransactionTooOld',
    `${what} ${number.toString()} ${on} because a newer ${newer} with txnNumber ` +
      `${session.txnNumber.toString()} has already started on this session.`,
  );
}

function noSuchTransaction(message: string): CommandError {
  return new CommandError(251, 'NoSuchTransaction', message, ['TransientTransactionError']);
}

/** The refusal of a command of a transaction that has ended. */
export function endedTransaction(session: LogicalSession, number: bigint, version: ServerVersion): CommandError {
  const which = version.atLeast(8, 0) ? `with { txnNumber: ${number.toString()} }` : number.toString();
  if (session.outcome === 'committed') {
    return new CommandError(256, 'TransactionCommitted', `Transaction ${which} has been committed.`);
  }
  return noSuchTransaction(`Transaction ${which} has been aborted.`);
}
