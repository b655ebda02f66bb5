import { randomUUID } from 'node:crypto';
import type {
  CallOptions,
  NodeClient,
  RawBatch,
  RawCursor,
  RawWrite,
  WriteOutcome,
  WriteTicket,
} from '@convoy/instance/cluster/node-client';
import { isOrderedReading, openOrdered } from '@convoy/instance/cluster/driver/ordered-reading';
import { writeCommand, writeOutcome } from '@convoy/instance/cluster/driver/write-command';
import { Binary, BSON, type Document, Long, MongoNetworkError, MongoServerError, type Timestamp } from 'mongodb';
import type { Adversary, CallKind } from './adversary.js';
import type { Message, NodeLink } from './node-link.js';
import type { ProcessState } from './process-state.js';
import type { VirtualTime } from './virtual-time.js';

/** Common parts of the clients of one process. */
export interface Surroundings {
  readonly time: VirtualTime;
  readonly adversary: Adversary;
  readonly state: ProcessState;
}

const fieldOfKind = { insert: 'documents', update: 'updates', delete: 'deletes' } as const;

/** The engine's client of a simulated node in the same process; the adversary sees every call. */
export class SoakNodeClient implements NodeClient {
  readonly #cut = new AbortController();

  constructor(
    readonly label: string,
    private readonly link: NodeLink,
    private readonly isRouter: boolean,
    private readonly around: Surroundings,
  ) {}

  async command(database: string, command: Document, options: CallOptions): Promise<Document> {
    const bytes = await this.#call('command', { database, command: limited(command, options) }, options);
    return answer(BSON.deserialize(bytes, { bsonRegExp: true }));
  }

  openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    const open = (each: Document, how: CallOptions): Promise<RawCursor> => this.#open(database, each, how);
    return this.isRouter && isOrderedReading(command) ? openOrdered(open, command, options) : open(command, options);
  }

  async #open(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    const lsid = { id: new Binary(Buffer.from(randomUUID().replaceAll('-', ''), 'hex'), Binary.SUBTYPE_UUID) };
    const atTime = (command['readConcern'] as Document | undefined)?.['level'] === 'snapshot' ? 'AtTime' : '';
    const read = async (body: Document, how: CallOptions): Promise<CursorReply> =>
      answer(
        BSON.deserialize(
          await this.#call(
            `${body['getMore'] === undefined ? 'open' : 'getMore'}${atTime}`,
            { database, command: { ...limited(body, how), lsid } },
            how,
          ),
          rawReply,
        ),
      ) as unknown as CursorReply;
    const reply = await read(command, options);
    return new SoakCursor(read, reply, this.isRouter, batchLimit(command, options));
  }

  async write(write: RawWrite, ticket: WriteTicket | null, options: CallOptions): Promise<WriteOutcome> {
    const field = fieldOfKind[write.kind];
    const command: Document = Object.fromEntries(
      Object.entries(writeCommand(write, ticket)).filter(([name]) => name !== field),
    );
    if (ticket !== null) command['lsid'] = { id: new Binary(ticket.lsid, Binary.SUBTYPE_UUID) };
    const message = {
      database: write.database,
      command: limited(command, options),
      sequences: new Map([[field, write.statements]]),
    };
    const bytes = await this.#call(ticket === null ? 'command' : 'fencedWrite', message, options);
    return writeOutcome(answer(BSON.deserialize(bytes)), write);
  }

  close(): Promise<void> {
    this.#cut.abort(new MongoNetworkError('the client was closed'));
    return Promise.resolve();
  }

  /** One call as the client sees it; its effect on the server may come later. */
  async #call(kind: CallKind, message: Message, { signal }: CallOptions): Promise<Uint8Array> {
    const { state } = this.around;
    signal.throwIfAborted();
    this.#cut.signal.throwIfAborted();
    if (!state.running) await state.awake();
    const connection = new AbortController();
    try {
      return await this.#unlessCut(signal, this.#fated(kind, message, connection.signal));
    } finally {
      if (signal.aborted || this.#cut.signal.aborted) connection.abort(signal.reason);
      if (!state.running) await state.awake();
    }
  }

  /** The answer, or the reason why the client stopped waiting. */
  #unlessCut(signal: AbortSignal, answered: Promise<Uint8Array>): Promise<Uint8Array> {
    const closing = this.#cut.signal;
    return new Promise<Uint8Array>((resolve, reject) => {
      const settle = (): void => {
        signal.removeEventListener('abort', onAbort);
        closing.removeEventListener('abort', onClose);
      };
      const onAbort = (): void => {
        settle();
        reject(signal.reason as Error);
      };
      const onClose = (): void => {
        settle();
        reject(closing.reason as Error);
      };
      signal.addEventListener('abort', onAbort);
      closing.addEventListener('abort', onClose);
      answered.finally(settle).then(resolve, reject);
      if (signal.aborted) onAbort();
    });
  }

  async #fated(kind: CallKind, message: Message, connection: AbortSignal): Promise<Uint8Array> {
    const { time, adversary, state } = this.around;
    const fate = adversary.fate(kind);
    await time.sleep(fate.request_ms);
    if (state.dead && adversary.happens(0.5)) return forever();
    switch (fate.outcome) {
      case 'lostRequest':
        throw lost();
      case 'refused':
        throw new MongoServerError({
          ok: 0,
          code: fate.code,
          errmsg: 'refused by the adversary',
          codeName: `Code${fate.code}`,
        });
      case 'lateRequest':
        void time
          .sleep(fate.lateBy_ms)
          .then(() => this.link.send(message, new AbortController().signal).catch(() => undefined));
        throw lost();
      case 'lostAnswer':
        await this.link.send(message, connection);
        await time.sleep(fate.answer_ms);
        throw lost();
      case 'answered': {
        const bytes = await this.link.send(message, connection);
        await time.sleep(fate.answer_ms);
        return bytes;
      }
    }
  }
}

const rawReply = { fieldsAsRaw: { firstBatch: true, nextBatch: true }, promoteLongs: false } as const;

interface CursorReply {
  cursor: {
    id: Long;
    ns: string;
    firstBatch?: Uint8Array[];
    nextBatch?: Uint8Array[];
    postBatchResumeToken?: { _data?: unknown };
    atClusterTime?: Timestamp;
  };
  operationTime?: Timestamp;
  $clusterTime?: { clusterTime?: Timestamp };
}

/** A cursor over raw batches, in a session of its own. */
class SoakCursor implements RawCursor {
  readonly first: RawBatch;
  #id: Long;
  #closed = false;
  readonly #collection: string;

  constructor(
    private readonly read: (body: Document, options: CallOptions) => Promise<CursorReply>,
    opening: CursorReply,
    private readonly isRouter: boolean,
    private readonly batchDocumentsMax: number | null,
  ) {
    this.#id = opening.cursor.id;
    this.#collection = opening.cursor.ns.slice(opening.cursor.ns.indexOf('.') + 1);
    this.first = batchOf(opening, isRouter);
  }

  get open(): boolean {
    return !this.#id.isZero();
  }

  async next(options: CallOptions): Promise<RawBatch> {
    if (!this.open) throw new Error('The cursor has ended: nothing more can be read from it');
    const limit = options.batchDocumentsMax ?? this.batchDocumentsMax;
    const reply = await this.read(
      { getMore: this.#id, collection: this.#collection, ...(limit === null ? {} : { batchSize: limit }) },
      options,
    );
    if (!this.#closed) this.#id = reply.cursor.id;
    return batchOf(reply, this.isRouter);
  }

  async close(): Promise<void> {
    if (!this.open) return;
    const id = this.#id;
    this.#closed = true;
    this.#id = Long.ZERO;
    await this.read({ killCursors: this.#collection, cursors: [id] }, { signal: new AbortController().signal }).catch(
      () => undefined,
    );
  }
}

/** A router's highest known time counts, as with the client of the driver. */
function batchOf({ cursor, operationTime, $clusterTime }: CursorReply, isRouter: boolean): RawBatch {
  const documents = cursor.firstBatch ?? cursor.nextBatch ?? [];
  const batch: RawBatch = { documents, bytes: documents.reduce((sum, { length }) => sum + length, 0) };
  const known = isRouter ? $clusterTime?.clusterTime : undefined;
  const time = operationTime === undefined || known?.greaterThan(operationTime) === true ? known : operationTime;
  if (typeof cursor.postBatchResumeToken?._data === 'string') batch.resumeToken = cursor.postBatchResumeToken._data;
  if (cursor.atClusterTime !== undefined) batch.atClusterTime = cursor.atClusterTime;
  if (time !== undefined) batch.operationTime = time;
  return batch;
}

function batchLimit(command: Document, options: CallOptions): number | null {
  const ofCommand: unknown = command['batchSize'] ?? (command['cursor'] as Document | undefined)?.['batchSize'];
  return options.batchDocumentsMax ?? (typeof ofCommand === 'number' && ofCommand > 0 ? ofCommand : null);
}

function limited(command: Document, { maxTime_ms }: CallOptions): Document {
  return maxTime_ms === undefined ? command : { ...command, maxTimeMS: maxTime_ms };
}

function answer(reply: Document): Document {
  const concern: unknown = reply['writeConcernError'];
  if (reply['ok'] !== 1) throw new MongoServerError(reply);
  if (concern !== undefined) throw new MongoServerError(concern as Document);
  return reply;
}

function lost(): Error {
  return new MongoNetworkError('connection cut by the adversary');
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
