import { BSON, MongoServerError, MongoServerSelectionError } from 'mongodb';
import type { Document, MongoError, ServerDescription, Timestamp, TopologyDescription } from 'mongodb';
import { only } from '../../../../test/only.js';
import type {
  CallOptions,
  ClusterClient,
  NodeClient,
  RawBatch,
  RawCursor,
  WriteOutcome,
} from '../../src/cluster/node-client.js';

/**
 * Answers one command; cursor commands answer `{cursor: {firstBatch, …}}`. Throws what the server would answer.
 * `exact` is the command with its number types.
 */
export type Handler = (database: string, command: Document, exact: Document) => Document;

/** Documents per batch of a fake cursor: small, so that every reader must fetch more. */
const BATCH_DOCUMENTS = 2;

/** An error as the driver throws it for a server's `ok: 0`. */
export function serverError(code: number, codeName: string): MongoServerError {
  return new MongoServerError({ ok: 0, code, codeName, errmsg: codeName });
}

/** An error as the driver throws it when it finds no server. @param reasons why, by host and port */
export function awayError(reasons: Readonly<Record<string, MongoError>> = {}): MongoServerSelectionError {
  const servers = Object.entries(reasons).map(([host, error]) => [host, only<ServerDescription>({ error })] as const);
  return new MongoServerSelectionError(
    'no server',
    only<TopologyDescription>({ servers: new Map(servers), error: null, compatible: true }),
  );
}

/** Answers by the command's name; a single function answers every command. */
export type Answers = Readonly<Record<string, Handler>> | ((command: Document) => Document);

/** One call; `given` is the command as the caller passed it, before BSON changed its values. */
export interface SentCommand {
  database: string;
  command: Document;
  given: Document;
  options: CallOptions;
}

/** Answers commands from a table or a function, and records them. Commands go through BSON as on the wire. */
export class FakeNodeClient implements NodeClient {
  /** Every command that was sent, in order. */
  readonly sent: SentCommand[] = [];
  /** Cursors that their reader closed before or after their end. */
  closedCursors = 0;

  constructor(
    readonly label: string,
    private readonly answers: Answers,
  ) {}

  async command(database: string, command: Document, options: CallOptions): Promise<Document> {
    await Promise.resolve();
    options.signal.throwIfAborted();
    return BSON.deserialize(BSON.serialize(this.answer(database, command, options)));
  }

  async openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    await Promise.resolve();
    options.signal.throwIfAborted();
    const cursor = this.answer(database, command, options).cursor as CursorReply | undefined;
    return new FakeCursor(cursor ?? {}, () => (this.closedCursors += 1));
  }

  /** The handler of one command, for clients that answer others differently. */
  handlerOf(name: string): Handler {
    const { answers } = this;
    const handler = typeof answers === 'function' ? (_: string, command: Document) => answers(command) : answers[name];
    if (handler === undefined) throw new Error(`the table has no ${name}`);
    return handler;
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('the fake client has no bulk writes'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private answer(database: string, given: Document, options: CallOptions): Document {
    const bytes = BSON.serialize(given);
    const command = BSON.deserialize(bytes);
    this.sent.push({ database, command, given, options });
    const name = Object.keys(command)[0] ?? '';
    if (typeof this.answers !== 'function' && !(name in this.answers)) throw serverError(59, 'CommandNotFound');
    return this.handlerOf(name)(database, command, BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true }));
  }
}

/** The `cursor` field of a reply, with its documents before they are encoded. */
interface CursorReply {
  firstBatch?: (Document | Map<string, unknown>)[];
  /** All documents come in the first batch; by default it has a few. */
  oneBatch?: boolean;
  atClusterTime?: Timestamp;
  postBatchResumeToken?: { _data: string };
}

class FakeCursor implements RawCursor {
  readonly first: RawBatch;
  private readonly rest: Uint8Array[];

  constructor(
    private readonly reply: CursorReply,
    private readonly closed: () => void,
  ) {
    this.rest = (reply.firstBatch ?? []).map((document) => BSON.serialize(document));
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
    this.closed();
    return Promise.resolve();
  }

  private take(): RawBatch {
    const documents = this.rest.splice(0, this.reply.oneBatch === true ? this.rest.length : BATCH_DOCUMENTS);
    const { atClusterTime, postBatchResumeToken } = this.reply;
    return {
      documents,
      bytes: documents.reduce((bytes, document) => bytes + document.length, 0),
      ...(atClusterTime && { atClusterTime }),
      ...(postBatchResumeToken && { resumeToken: postBatchResumeToken._data }),
    };
  }
}

/** A cluster of fake clients; without `shards` it has no direct access. */
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
