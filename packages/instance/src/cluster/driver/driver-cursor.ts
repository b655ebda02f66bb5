import {
  Long,
  type ClientSession,
  type ClusterTime,
  type Document,
  type MongoClient,
  type ReadPreferenceLike,
  type Timestamp,
} from 'mongodb';
import type { CallsInFlight } from '../calls-in-flight.js';
import type { CallOptions, RawBatch, RawCursor } from '../node-client.js';
import { callKind, type CausalTimes, databaseOf } from './commands.js';
import { withoutReply } from './driver-receive.js';

/** Time limit of killCursors when a cursor is closed early; if it fails, the server times the cursor out. */
const killLimit_ms = 5_000;

/** A reply to a cursor command as the driver returns it. */
interface DriverReply {
  cursor: DecodedCursor;
  operationTime?: Timestamp;
  $clusterTime?: ClusterTime;
}

/** What a cursor needs from its client. */
interface CursorHome {
  client: MongoClient;
  calls: CallsInFlight;
  readPreference: ReadPreferenceLike | null;
  isRouter: boolean;
  /** Of the client: they go into the session of a cursor, and replies advance them. */
  times: Pick<CausalTimes, 'prepare' | 'learn' | 'ofPrimary'>;
  /** Of a single member: called with its own time and what it and the primary know of the set's. */
  heard?: (own: unknown, ...ofSet: unknown[]) => void;
  /** Called with every failure, so that the client leaves a dead router. */
  failed: (client: MongoClient, error: unknown) => void;
}

/** A router's own operation time may be behind the shards' replies; the highest time that the router knows is not. */
function timeOfReply({ operationTime, $clusterTime }: DriverReply, isRouter: boolean): Timestamp | undefined {
  const known = isRouter ? $clusterTime?.clusterTime : undefined;
  if (known === undefined) return operationTime;
  return operationTime === undefined || known.greaterThan(operationTime) ? known : operationTime;
}

function batchOf({ id: _id, namespace: _namespace, ...batch }: CursorReply): RawBatch {
  return batch;
}

/** A cursor in its own session: the server ties getMore to the session that opened the cursor. */
export class DriverCursor implements RawCursor {
  private id: Long;
  private ended = false;

  private constructor(
    private readonly home: CursorHome,
    private readonly session: ClientSession,
    private readonly namespace: { database: string; collection: string },
    private readonly batchDocumentsMax: number | null,
    id: Long,
    readonly first: RawBatch,
  ) {
    this.id = id;
  }

  /** Opens a cursor by a cursor command; its batches stay bytes. */
  static async open(
    home: CursorHome,
    database: string,
    command: Document,
    options: CallOptions,
  ): Promise<DriverCursor> {
    // With causal consistency the driver would add afterClusterTime, which contradicts atClusterTime.
    const session = home.client.startSession({ causalConsistency: false });
    home.times.prepare(session);
    try {
      const reply = await send(home, session, database, withLimit(command, options), options);
      const collection = reply.namespace.slice(reply.namespace.indexOf('.') + 1);
      const cursor = new DriverCursor(
        home,
        session,
        { database, collection },
        batchLimit(command, options),
        reply.id,
        batchOf(reply),
      );
      if (!cursor.open) await cursor.close();
      return cursor;
    } catch (error) {
      await session.endSession();
      throw error;
    }
  }

  get open(): boolean {
    return !this.id.isZero();
  }

  async next(options: CallOptions): Promise<RawBatch> {
    if (!this.open) throw new Error('The cursor has ended; open it again to read more');
    const command: Document = { getMore: this.id, collection: this.namespace.collection };
    const limit = options.batchDocumentsMax ?? this.batchDocumentsMax;
    if (limit !== null) command.batchSize = limit;
    const reply = await send(this.home, this.session, this.namespace.database, withLimit(command, options), options);
    await this.moveTo(reply.id);
    return batchOf(reply);
  }

  /** A cursor that was closed during a fetch stays closed. */
  private async moveTo(id: Long): Promise<void> {
    if (this.ended) return;
    this.id = id;
    if (!this.open) await this.close();
  }

  async close(): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    try {
      if (this.open) await this.kill();
    } catch {
      // The server itself ends cursors of lost connections and forgotten sessions.
    } finally {
      this.id = Long.ZERO;
      await this.session.endSession();
    }
  }

  private async kill(): Promise<void> {
    const command = { killCursors: this.namespace.collection, cursors: [this.id] };
    const options = { signal: AbortSignal.timeout(killLimit_ms) };
    const { database } = this.namespace;
    await this.home.calls.run(
      options,
      (signal) => databaseOf(this.home.client, database).command(command, { session: this.session, signal }),
      callKind(database, command),
    );
  }
}

/** The limit for getMore: the caller's, or else that of the opening command; its 0 means "not yet", not a limit. */
function batchLimit(command: Document, options: CallOptions): number | null {
  const ofCommand: unknown = command.batchSize ?? (command.cursor as Document | undefined)?.batchSize;
  return options.batchDocumentsMax ?? (typeof ofCommand === 'number' && ofCommand > 0 ? ofCommand : null);
}

/** A copy of the command with the caller's limit, if there is one. */
export function withLimit(command: Document, options: CallOptions): Document {
  return options.maxTime_ms === undefined ? { ...command } : { ...command, maxTimeMS: options.maxTime_ms };
}

async function send(
  home: CursorHome,
  session: ClientSession,
  database: string,
  command: Document,
  options: CallOptions,
): Promise<CursorReply> {
  const preference = home.readPreference === null ? {} : { readPreference: home.readPreference };
  try {
    const sent = { ...cursorReplyOptions, ...preference, session };
    const reply = (await home.calls.run(
      options,
      (signal) => databaseOf(home.client, database).command(command, { ...sent, signal }),
      callKind(database, command),
    )) as DriverReply;
    home.times.learn(reply);
    const operationTime = timeOfReply(reply, home.isRouter);
    const primaryTime = home.isRouter ? null : home.times.ofPrimary;
    home.heard?.(reply.operationTime, reply.$clusterTime?.clusterTime, primaryTime);
    return {
      ...readCursorReply(reply.cursor),
      ...(operationTime && { operationTime }),
      ...(primaryTime && { primaryTime }),
    };
  } catch (error) {
    home.failed(home.client, error);
    throw error;
  }
}

/**
 * Options of a cursor command: documents stay bytes, views of the reply, and everything else is decoded. The driver's
 * option `raw` would leave the `topologyVersion` of an error undecoded too, and the driver fails on it when a primary
 * steps down.
 */
export const cursorReplyOptions = {
  fieldsAsRaw: { firstBatch: true, nextBatch: true },
  promoteLongs: false,
  enableUtf8Validation: false,
} as const;

/** The `cursor` field of a reply that was read with these options. */
export interface DecodedCursor {
  /** 0 if the cursor is exhausted. */
  id: Long;
  /** `database.collection` for the following commands. */
  ns: string;
  firstBatch?: Uint8Array[];
  nextBatch?: Uint8Array[];
  postBatchResumeToken?: { _data?: unknown; $recordId?: unknown };
  atClusterTime?: Timestamp;
}

/** A batch of a cursor, with its documents as views of the reply's bytes. */
interface CursorReply extends RawBatch {
  id: Long;
  namespace: string;
}

/** The batch in a reply. Only tokens in the form of change streams can be resumed from. */
export function readCursorReply(cursor: DecodedCursor): CursorReply {
  const documents = cursor.firstBatch ?? cursor.nextBatch ?? [];
  const position = cursor.postBatchResumeToken;
  const token = position?._data;
  const hasRecord = position?.$recordId !== undefined && position.$recordId !== null;
  return {
    id: cursor.id,
    namespace: cursor.ns,
    documents,
    bytes: documents.reduce((sum, { length }) => sum + length, 0),
    ...(typeof token === 'string' && { resumeToken: token }),
    ...(hasRecord && { recordToken: withoutReply(position) }),
    ...(cursor.atClusterTime !== undefined && { atClusterTime: cursor.atClusterTime }),
  };
}
