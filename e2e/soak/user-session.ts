import { Binary, BSON, type Document, Long } from 'mongodb';
import type { Clock } from './clock.js';
import type { NodeLink } from './node-link.js';
import { documentsOf, passOver, RefusedByServer, type User } from './user.js';

/** How long a call of a user takes. */
const call_ms = 2;

/** A user's session on the source: nothing is wrong with its connection. */
export class UserSession implements User {
  readonly #lsid: Document;
  #number = 0;
  #transaction: { started: boolean } | null = null;
  readonly #signal = new AbortController().signal;

  constructor(
    private readonly link: NodeLink,
    private readonly time: Clock,
    place: number,
  ) {
    this.#lsid = { id: new Binary(Buffer.alloc(16, place + 1), Binary.SUBTYPE_UUID) };
  }

  /**
   * Runs a command, in the session's transaction when one is open.
   * @throws RefusedByServer for `ok: 0` and for failed statements
   */
  async command(database: string, command: Document): Promise<Document> {
    await this.time.sleep(call_ms);
    const bytes = await this.link.send({ database, command: { ...command, ...this.#place() } }, this.#signal);
    const reply = BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true });
    const failed: unknown = (reply['writeErrors'] as Document[] | undefined)?.[0];
    if (Number(reply['ok']) !== 1 || failed !== undefined) throw new RefusedByServer(failed ?? reply);
    return reply;
  }

  /** Runs one write as a retryable one: only so, or in a transaction, shard keys may change. */
  async retryable(database: string, command: Document): Promise<Document> {
    if (this.#transaction !== null) return this.command(database, command);
    this.#number += 1;
    return this.command(database, { ...command, lsid: this.#lsid, txnNumber: Long.fromNumber(this.#number) });
  }

  /** All documents of a cursor, with their types. */
  documents(database: string, command: Document): Promise<Document[]> {
    return documentsOf(this, database, command);
  }

  /** Opens a transaction for the commands that follow. */
  begin(): void {
    this.#number += 1;
    this.#transaction = { started: false };
  }

  /** Ends the transaction; one that has ended by itself is passed over. */
  async end(how: 'commitTransaction' | 'abortTransaction'): Promise<void> {
    const transaction = this.#transaction;
    if (transaction?.started === true) await this.command('admin', { [how]: 1 }).catch(passOver);
    this.#transaction = null;
  }

  #place(): Document {
    if (this.#transaction === null) return {};
    const { started } = this.#transaction;
    this.#transaction.started = true;
    const place = { lsid: this.#lsid, txnNumber: Long.fromNumber(this.#number), autocommit: false };
    return started ? place : { ...place, startTransaction: true };
  }
}
