import { randomBytes } from 'node:crypto';
import { Binary, BSON, type ClientSession, type Document, MongoClient, MongoServerError } from 'mongodb';

/** A command before it is sent. */
export interface Asked {
  /** `router`, or the id of a shard. */
  readonly on: string;
  readonly db: string;
  readonly command: Document;
}

/** Sees every reply of a probe as plain JavaScript values, and returns what the probe will see. */
export type Observer = (asked: Asked, reply: Document) => Document;

interface AskOptions {
  readonly session?: ClientSession;
  readonly signal?: AbortSignal;
}

/** A server that does not answer this long counts as absent. */
const selection_ms = 10_000;
/** Probes run one after the other; each may also have a stream and a transaction open. */
const connectionsMax = 4;

/** One server (or a router) that runs plain commands through the driver. It repeats nothing and adds nothing. */
export class Server {
  readonly #client: MongoClient;
  /** Cursors belong to the session that opened them. */
  #session: ClientSession | null = null;

  constructor(
    readonly name: string,
    readonly connectionString: string,
  ) {
    this.#client = new MongoClient(connectionString, {
      appName: 'convoy probe',
      retryReads: false,
      retryWrites: false,
      ...(/[?&]serverSelectionTimeoutMS=/i.test(connectionString) ? {} : { serverSelectionTimeoutMS: selection_ms }),
      maxPoolSize: connectionsMax,
    });
  }

  /** A session for numbered writes and transactions. Its id is new: the driver would reuse one of another probe. */
  startSession(): ClientSession {
    const session = this.#client.startSession({ causalConsistency: false });
    session.serverSession.id = { id: new Binary(randomBytes(16), Binary.SUBTYPE_UUID) };
    return session;
  }

  /**
   * @returns the reply unchanged, also of a refusal (`ok: 0`), every number with its type
   * @throws the driver's errors if no reply arrived; the signal's reason
   */
  async ask(db: string, command: Document, { session, signal }: AskOptions = {}): Promise<Document> {
    this.#session ??= this.startSession();
    try {
      return await this.#client
        .db(db)
        .command(
          { ...command },
          { session: session ?? this.#session, promoteValues: false, ...(signal !== undefined && { signal }) },
        );
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof MongoServerError && error.errorResponse.ok !== undefined) return error.errorResponse;
      throw error;
    }
  }

  /** The same as plain JavaScript values. */
  async answer(db: string, command: Document, options?: AskOptions): Promise<Document> {
    return plain(await this.ask(db, command, options));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Converts numbers and similar types to JavaScript values. */
export function plain(reply: Document): Document {
  return BSON.deserialize(BSON.serialize(reply));
}
