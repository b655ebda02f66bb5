import { type ClientSession, type Document, Long } from 'mongodb';

/** Runs a command in a session. */
type AskInSession = (db: string | null, command: Document, session: ClientSession) => Promise<Document>;

/** No session has more than one. */
const oneTransaction = Long.fromNumber(1);

/** A session whose writes have numbers of the caller's choice, like Convoy's own. */
export class NumberedSession {
  constructor(
    private readonly session: ClientSession,
    private readonly askIn: AskInSession,
  ) {}

  /** The session's id as commands carry it. */
  get lsid(): Document {
    return this.session.serverSession.id;
  }

  /** A retryable write; without a number, the statement contains its own. */
  write(command: Document, number?: Long): Promise<Document> {
    return number === undefined
      ? this.askIn(null, { ...command, lsid: this.lsid }, this.session)
      : this.#ask(null, command, {}, number);
  }

  /** The first command of a transaction. */
  begin(command: Document): Promise<Document> {
    return this.#ask(null, command, { startTransaction: true, autocommit: false });
  }

  /** A further command of the transaction. */
  go(command: Document): Promise<Document> {
    return this.#ask(null, command, { autocommit: false });
  }

  commit(): Promise<Document> {
    return this.#ask('admin', { commitTransaction: 1 }, { autocommit: false, writeConcern: { w: 'majority' } });
  }

  abort(): Promise<Document> {
    return this.#ask('admin', { abortTransaction: 1 }, { autocommit: false });
  }

  #ask(db: string | null, command: Document, more: Document, number = oneTransaction): Promise<Document> {
    // The driver adds its own number to commands that end a transaction.
    this.session.serverSession.txnNumber = number.toNumber();
    return this.askIn(db, { ...command, lsid: this.lsid, txnNumber: number, ...more }, this.session);
  }
}

/** A number as Convoy composes it: the owner's epoch in the high half, a counter in the low half. */
export function numberOf(epoch: number, count: number): Long {
  return Long.fromNumber(epoch).shiftLeft(32).add(count);
}
