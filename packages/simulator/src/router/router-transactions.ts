import { Binary, Long, type Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { CommandError } from '../node/command.js';
import { docOf } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import { SessionIdentity } from '../shard/session/session-identity.js';
import { uuidText } from '../bson/uuid.js';

/** Bound of the transactions that a router knows at once. Beyond it the least recently used one is dropped. */
const transactionsMax = 10_000;

/**
 * The state that a participant has reported: nothing yet, or only failures; that it has only read; that it has written,
 * or aborted.
 */
type Standing = 'unheard' | 'reads' | 'wrote';

/**
 * What a router knows of one transaction. It does not remember failures. Each shard does so itself, and one that is
 * asked for the first time afterwards starts the transaction anew (seen on 5.0.7).
 */
export class RoutedTransaction {
  readonly participants = new Map<string, Standing>();
  /** Set once the client has requested its end. Later reports of participants change nothing. */
  ending = false;
  /** True for a number of which the router has seen the commit alone. */
  recovering = false;
  /** True once a shard was asked for its outcome: that shard then completes it. */
  askedFor = false;
  /** The answer to a commit over several shards, once it is decided. Participants may commit later. */
  decision: Promise<Doc> | undefined;
  /** The shard that can report the outcome later: the first one that wrote. */
  recoveryShard: string | undefined;
  /** False once the first participant was sent an abort: it then no longer decides over the others. */
  isCoordinated = true;
  /** True once the router has aborted it on its own. Later reports of participants change nothing either. */
  gaveUp = false;

  constructor(
    readonly txnNumber: bigint,
    /** `readConcern` that every participant's first statement carries. */
    readonly readConcern: Doc | undefined,
  ) {}

  /** Records the state that a participant reports with each reply. */
  noteReply(shard: string, readOnly: boolean): void {
    if (this.ending || this.gaveUp) return;
    if (readOnly && this.participants.get(shard) === 'wrote') return;
    this.participants.set(shard, readOnly ? 'reads' : 'wrote');
    if (!readOnly) this.recoveryShard ??= shard;
  }

  /** Decides over a commit of several shards: the first participant. */
  get coordinator(): string | undefined {
    return this.participants.keys().next().value;
  }

  /** Participants in the order in which they commit: by id, as recorded in 04-events-documents and 11-transactions. */
  shards(standing?: Standing): string[] {
    return [...this.participants]
      .filter(([, own]) => standing === undefined || own === standing)
      .map(([shard]) => shard)
      .sort();
  }
}

/** The participants of the last transaction of each session. */
export class RouterTransactions {
  readonly #known = new Map<string, RoutedTransaction>();

  constructor(
    private readonly clock: ClusterClock,
    private readonly version: ServerVersion,
  ) {}

  /**
   * Registers a statement of a client's transaction.
   * @returns undefined for commands outside of transactions
   * @throws CommandError 72, 117, 225 or 251 for a number that cannot start or continue
   */
  enter(body: Doc): RoutedTransaction | undefined {
    const session = sessionKey(body);
    const txnNumber = numberOf(body);
    if (session === undefined || txnNumber === undefined || body.get('autocommit') !== false) return undefined;
    const known = this.#known.get(session);
    this.refuseOlder(body);
    if (body.get('startTransaction') === true) {
      if (known?.txnNumber === txnNumber) {
        throw new CommandError(
          117,
          'ConflictingOperationInProgress',
          `txnNumber ${txnNumber}${this.#retryCounter} for session ${this.#sessionText(body)} already started`,
        );
      }
      return this.begin(body);
    }
    if (known?.txnNumber !== txnNumber) {
      throw this.unknown(body);
    }
    if ((docOf(body.get('readConcern'))?.size ?? 0) > 0) {
      throw new CommandError(72, 'InvalidOptions', 'Only the first command in a transaction may specify a readConcern');
    }
    this.refuseNotStarted(body);
    return known;
  }

  /** @throws CommandError 8027900 for one of which only the commit was sent: it has no time to read at (8.0.10) */
  refuseNotStarted(body: Doc): void {
    const known = this.of(body);
    if (known?.recovering !== true || !this.version.atLeast(8, 0)) return;
    throw new CommandError(
      8027900,
      'Location8027900',
      `attempting to continue transaction that was not started lsid: ${this.#sessionText(body)} ` +
        `txnNumber: ${known.txnNumber}`,
    );
  }

  /** @throws CommandError 225 for a number below the last one of its session */
  refuseOlder(body: Doc): void {
    const known = this.#known.get(sessionKey(body) ?? '');
    const txnNumber = numberOf(body);
    if (known === undefined || txnNumber === undefined || txnNumber >= known.txnNumber) return;
    throw new CommandError(
      225,
      'TransactionTooOld',
      `txnNumber ${txnNumber} is less than last txnNumber ${known.txnNumber} seen in session ` +
        this.#sessionText(body),
    );
  }

  /** Records the number of a transaction that another router ran and whose outcome a client requests. */
  recover(body: Doc): RoutedTransaction {
    this.refuseOlder(body);
    const transaction = this.begin(body);
    transaction.recovering = true;
    return transaction;
  }

  /** The error for a number of which this router has seen no transaction. */
  unknown(body: Doc): CommandError {
    const known = this.#known.get(sessionKey(body) ?? '');
    return noSuchTransaction(
      `cannot continue txnId ${known?.txnNumber ?? -1} for session ${this.#sessionText(body)} with ` +
        (this.#retryCounter === '' ? `txnId ${numberOf(body) ?? -1n}` : 'txnRetryCounter 0'),
    );
  }

  /** Starts the transaction of a command, and drops the session's previous one. */
  begin(body: Doc): RoutedTransaction {
    const session = sessionKey(body) ?? '';
    const transaction = new RoutedTransaction(numberOf(body) ?? -1n, this.#readConcern(docOf(body.get('readConcern'))));
    this.#known.delete(session);
    this.#known.set(session, transaction);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > transactionsMax) this.#known.delete(oldest);
    return transaction;
  }

  /** The transaction that a command belongs to, in any state. */
  of(body: Doc): RoutedTransaction | undefined {
    const session = sessionKey(body);
    const known = session === undefined ? undefined : this.#known.get(session);
    return known?.txnNumber === numberOf(body) ? known : undefined;
  }

  /** The command as a shard must see it: the first one on a shard starts the transaction there. */
  joined(shard: string, body: Doc): Doc {
    if (body.get('autocommit') !== false) return body;
    const transaction = this.of(body);
    if (transaction === undefined || body.has('coordinateCommitTransaction')) return body;
    body.delete('startTransaction');
    body.delete('readConcern');
    if (transaction.participants.has(shard)) return body;
    transaction.participants.set(shard, 'unheard');
    body.set('startTransaction', true);
    if (transaction.readConcern !== undefined) body.set('readConcern', transaction.readConcern);
    return body;
  }

  /** Drops the state of all transactions, as the end of the router's process does. */
  forget(): void {
    this.#known.clear();
  }

  /** The session as failures show it. 8.0.10 leaves room for two parts that users' sessions do not have. */
  #sessionText(body: Doc): string {
    return `${SessionIdentity.read(body.get('lsid'))?.toString() ?? ''}${this.version.atLeast(8, 0) ? ' -  - ' : ''}`;
  }

  get #retryCounter(): string {
    return this.version.atLeast(8, 0) ? ' txnRetryCounter 0' : '';
  }

  /** A transaction as failures to commit it name it. */
  nameOf(body: Doc, txnNumber: bigint): string {
    const id = uuidText(SessionIdentity.read(body.get('lsid'))?.id.buffer ?? new Uint8Array());
    return `${this.version.atLeast(8, 0) ? this.#sessionText(body) : id}:${txnNumber}`;
  }

  /** Snapshots of all participants are taken at one time, which the router chooses. */
  #readConcern(given: Doc | undefined): Doc | undefined {
    if (given?.get('level') !== 'snapshot' || given.has('atClusterTime')) return given;
    const time: Timestamp = this.clock.current();
    const concern = new Map(given).set('atClusterTime', time);
    concern.delete('afterClusterTime');
    return concern;
  }
}

/** The error for a missing transaction, which a client may retry from its start. */
export function noSuchTransaction(message: string): CommandError {
  return new CommandError(251, 'NoSuchTransaction', message, ['TransientTransactionError']);
}

function numberOf(body: Doc): bigint | undefined {
  const number = body.get('txnNumber');
  return number instanceof Long ? number.toBigInt() : undefined;
}

function sessionKey(body: Doc): string | undefined {
  const lsid = docOf(body.get('lsid'));
  const id = lsid?.get('id');
  const uid = lsid?.get('uid');
  if (!(id instanceof Binary)) return undefined;
  return id.toString('hex') + (uid instanceof Binary ? uid.toString('hex') : '');
}
