import { type Document, Long, type Timestamp } from 'mongodb';
import type { Fixture } from './fixture.js';
import type { Server } from './server.js';

/** Scope of a stream: a collection, the scratch database or the whole cluster. */
export interface StreamOf {
  readonly on?: Server;
  readonly collection?: string;
  readonly database?: string;
  /** First time to show. */
  readonly at?: Timestamp;
  /** Further options of `$changeStream`. */
  readonly stage?: Document;
  readonly pipeline?: readonly Document[];
}

/** How long a server waits before it returns an empty batch. */
const batch_ms = 250;

/** A change stream as a cursor, read batch by batch. */
export class EventStream {
  /** Events so far, without the markers that end the read. */
  readonly events: Document[] = [];
  /** Whether the marker of `Fixture.read` has arrived. */
  isAtEnd = false;
  /** The token of the last batch. */
  token = '';
  readonly #tokens: string[] = [];

  private constructor(
    private readonly fixture: Fixture,
    private readonly on: Server,
    private readonly db: string,
    private cursor: { id: number | Long; ns: string },
  ) {}

  static command({ collection, at, stage, pipeline = [] }: StreamOf): Document {
    const $changeStream = { ...(at !== undefined && { startAtOperationTime: at }), ...stage };
    return { aggregate: collection ?? 1, pipeline: [{ $changeStream }, ...pipeline], cursor: { batchSize: 0 } };
  }

  static async open(fixture: Fixture, of: StreamOf): Promise<EventStream> {
    const on = of.on ?? fixture.front;
    const db = of.database ?? fixture.db;
    const reply = await fixture.done(EventStream.command(of), on, db);
    const cursor = reply.cursor as { id: Long; ns: string; postBatchResumeToken: { _data: string } };
    const stream = new EventStream(fixture, on, db, cursor);
    stream.#reached(cursor.postBatchResumeToken);
    return stream;
  }

  /** Tokens of all batches so far. */
  get tokens(): readonly string[] {
    return this.#tokens;
  }

  /** Reads batches until there are enough events, or no more are expected. */
  async until(isEnough: (stream: EventStream) => boolean): Promise<Document[]> {
    const started_ms = performance.now();
    if (!isEnough(this)) await this.fixture.wake();
    while (!isEnough(this) && performance.now() - started_ms < this.fixture.patience_ms) {
      const reply = await this.next();
      if (reply.ok !== 1) break;
    }
    return this.events;
  }

  /** One batch, as the server returned it. */
  async next(): Promise<Document> {
    const [, ...name] = this.cursor.ns.split('.');
    const reply = await this.fixture.ask(
      { getMore: asLong(this.cursor.id), collection: name.join('.'), maxTimeMS: batch_ms },
      this.on,
      this.db,
    );
    const cursor = reply.cursor as
      { id: Long; ns: string; nextBatch: Document[]; postBatchResumeToken?: { _data: string } } | undefined;
    if (cursor === undefined) return reply;
    this.events.push(...cursor.nextBatch.filter((event) => !isEnd(event)));
    this.isAtEnd ||= cursor.nextBatch.some(isEnd);
    this.#reached(cursor.postBatchResumeToken);
    this.cursor = cursor;
    return reply;
  }

  #reached(token: { _data: string } | undefined): void {
    if (token === undefined) return;
    this.token = token._data;
    this.#tokens.push(token._data);
  }
}

/**
 * A field that marks documents whose insertion ends the read of a stream, and their collection for streams of a whole
 * database or cluster.
 */
export const endMark = 'end_of_probe';

/** Whether an event is the insertion of such a document, or the creation of that collection. */
export function isEnd({ ns, fullDocument }: Document): boolean {
  return (
    (ns as { coll?: string } | undefined)?.coll === endMark ||
    (fullDocument as Document | undefined)?.[endMark] !== undefined
  );
}

/** Cursor ids are 64-bit integers, which the driver returns as numbers if these are exact. */
export function asLong(id: number | Long): Long {
  return typeof id === 'number' ? Long.fromNumber(id) : id;
}
