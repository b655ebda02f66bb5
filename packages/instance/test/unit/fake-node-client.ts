import { BSON, MongoServerError } from 'mongodb';
import type { Document } from 'mongodb';
import type {
  CallOptions,
  ClusterClient,
  NodeClient,
  RawBatch,
  RawCursor,
  WriteOutcome,
} from '../../src/cluster/node-client.js';

/**
 * Answers one command; cursor commands answer `{cursor: {firstBatch}}`. Throws what the server would answer.
 * `exact` is the command with the number types it was sent with.
 */
export type Handler = (database: string, command: Document, exact: Document) => Document;

/** Documents per batch of a fake cursor: small, so that every reader has to ask for more. */
const BATCH_DOCUMENTS = 2;

/** An error as the driver throws it for a server's `ok: 0`. */
export function serverError(code: number, codeName: string): MongoServerError {
  return new MongoServerError({ ok: 0, code, codeName, errmsg: codeName });
}

/** A door that answers commands from a table, by the command's name. Commands go through BSON like on the wire. */
export class FakeNodeClient implements NodeClient {
  /** Every command that was sent, in order. */
  readonly sent: { database: string; command: Document }[] = [];

  constructor(
    readonly label: string,
    private readonly table: Readonly<Record<string, Handler>>,
  ) {}

  async command(database: string, command: Document, { signal }: CallOptions): Promise<Document> {
    await Promise.resolve();
    signal.throwIfAborted();
    return BSON.deserialize(BSON.serialize(this.answer(database, command)));
  }

  async openCursor(database: string, command: Document, { signal }: CallOptions): Promise<RawCursor> {
    await Promise.resolve();
    signal.throwIfAborted();
    const reply = this.answer(database, command);
    const documents = (reply.cursor as { firstBatch: Document[] }).firstBatch.map((document) =>
      BSON.serialize(document),
    );
    return new FakeCursor(documents);
  }

  /** The handler of one command, for doors that answer others differently. */
  handlerOf(name: string): Handler {
    const handler = this.table[name];
    if (handler === undefined) throw new Error(`the table has no ${name}`);
    return handler;
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('the fake door takes no bulk writes'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private answer(database: string, sent: Document): Document {
    const bytes = BSON.serialize(sent);
    const command = BSON.deserialize(bytes);
    this.sent.push({ database, command });
    const name = Object.keys(command)[0] ?? '';
    const handler = this.table[name];
    if (handler === undefined) throw serverError(59, 'CommandNotFound');
    return handler(database, command, BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true }));
  }
}

class FakeCursor implements RawCursor {
  readonly first: RawBatch;

  constructor(private readonly rest: Uint8Array[]) {
    this.first = this.take();
  }

  get open(): boolean {
    return this.rest.length > 0;
  }

  next(): Promise<RawBatch> {
    return Promise.resolve(this.take());
  }

  close(): Promise<void> {
    this.rest.length = 0;
    return Promise.resolve();
  }

  private take(): RawBatch {
    const documents = this.rest.splice(0, BATCH_DOCUMENTS);
    return { documents, bytes: documents.reduce((bytes, document) => bytes + document.length, 0) };
  }
}

/** A cluster behind fake doors; without `shards` it has no direct access. */
export function fakeCluster(
  parts: Partial<Omit<ClusterClient, 'shard' | 'taskClient' | 'close'>> & {
    router: NodeClient;
    shards?: ReadonlyMap<string, NodeClient>;
  },
): ClusterClient {
  return {
    name: 'cluster0',
    kind: 'sharded',
    version: [5, 0, 7],
    clusterId: '0a',
    displayHost: '127.0.0.1:27017',
    access: parts.shards === undefined ? 'router' : 'direct',
    shardIds: ['shard0', 'shard1'],
    ...parts,
    taskClient: (id) => parts.shards?.get(id) ?? parts.router,
    shard(id) {
      const client = parts.shards?.get(id);
      if (client === undefined) throw new Error(`no direct access to ${id}`);
      return client;
    },
    close: () => Promise.resolve(),
  };
}
