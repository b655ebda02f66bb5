import { type ClientSession, type Document, type MongoClient, MongoError } from 'mongodb';
import { documentsOf, RefusedByServer, type User } from '../user.js';

/** Documents keep their types and bytes. */
const asStored = { promoteValues: false, bsonRegExp: true } as const;

/**
 * A user's session on a cluster, over the network. What is lost with a connection is refused: the user does not do it
 * again.
 */
export class RealUser implements User, AsyncDisposable {
  readonly #session: ClientSession;

  constructor(private readonly client: MongoClient) {
    // What users do in this session does not wait for what other sessions have written.
    this.#session = client.startSession({ causalConsistency: false });
  }

  async command(database: string, command: Document): Promise<Document> {
    const reply = await this.client
      .db(database)
      .command(command, { ...asStored, session: this.#session })
      .catch(refused);
    const [failed] = (reply['writeErrors'] as Document[] | undefined) ?? [];
    if (failed !== undefined) throw new RefusedByServer(failed);
    return reply;
  }

  async retryable(database: string, command: Document): Promise<Document> {
    if (this.#session.inTransaction()) return this.command(database, command);
    this.begin();
    try {
      return await this.command(database, command);
    } finally {
      await this.end('commitTransaction');
    }
  }

  documents(database: string, command: Document): Promise<Document[]> {
    return documentsOf(this, database, command);
  }

  begin(): void {
    this.#session.startTransaction();
  }

  async end(how: 'commitTransaction' | 'abortTransaction'): Promise<void> {
    if (!this.#session.inTransaction()) return;
    await (how === 'commitTransaction' ? this.#session.commitTransaction() : this.#session.abortTransaction()).catch(
      (error: unknown) => {
        if (!(error instanceof MongoError)) throw error;
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.endSession();
  }
}

function refused(error: unknown): never {
  if (!(error instanceof MongoError)) throw error;
  throw new RefusedByServer({ codeName: error.name, errmsg: error.message });
}
