import { type ClientSession, type Document, type MongoClient, type ReadPreferenceLike, Binary, Long } from 'mongodb';
import { CallsInFlight, type Waits } from '../calls-in-flight.js';
import { failureOfRead } from '../failure.js';
import type { CallOptions, NodeClient, RawCursor, RawWrite, WriteOutcome, WriteTicket } from '../node-client.js';
import { callKind, CausalTimes, isMajorityRead, databaseOf, changesAtMajority, stated } from './commands.js';
import type { ClientRing, MemberClients } from './clients.js';
import { DriverCursor, withLimit } from './driver-cursor.js';
import { isOrderedReading, openOrdered } from './ordered-reading.js';
import { writeCommand, writeOutcome } from './write-command.js';

interface DriverNodeClientOptions {
  /** For logs, for example `cluster0 router`; never a connection string. */
  label: string;
  ring: ClientRing;
  /** Read preference of cursors; null reads from primaries. Commands and writes always go to the primary. */
  readPreference: ReadPreferenceLike | null;
  /** The nodes are routers, which merge the replies of several shards. */
  isRouter?: boolean;
  /** For replica sets with a read preference; routers keep a cursor on its member themselves. */
  members?: MemberClients;
  /** Shows the calls without an answer. */
  waits?: Waits | undefined;
}

/**
 * A node client on the official driver. Batches are views of the reply's bytes: callers that keep a document longer
 * than its batch copy it, or the whole reply stays in memory.
 */
export class DriverNodeClient implements NodeClient {
  private readonly calls: CallsInFlight;
  private readonly times = new CausalTimes();
  private readonly leave: (() => void) | undefined;

  constructor(private readonly node: DriverNodeClientOptions) {
    this.calls = new CallsInFlight(node.label, node.waits);
    const { members, waits, label } = node;
    if (members !== undefined) this.leave = waits?.add(() => members.waits(label));
  }

  get label(): string {
    return this.node.label;
  }

  /** A command with `lsid` (and `txnNumber`, as in a transaction) runs in that server session. */
  async command(database: string, command: Document, options: CallOptions): Promise<Document> {
    const whole = stated(database, command);
    const included = this.times.included(whole);
    const limited = withLimit(included, options);
    const reply = await this.call(options, callKind(database, command), (client, signal) => {
      const chosen = sessionOfCommand(command);
      const send = (session?: ClientSession) =>
        databaseOf(client, database).command(limited, {
          bsonRegExp: true,
          signal,
          ...(session === undefined ? {} : { session }),
        });
      if (chosen !== null) return inSession(client, chosen, send);
      return included === whole
        ? send()
        : client.withSession({ causalConsistency: false }, (session) => {
            this.times.prepare(session);
            return send(session);
          });
    });
    if (changesAtMajority(limited) || isMajorityRead(whole)) this.times.answered(reply);
    return reply;
  }

  async openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    const { ring, readPreference, isRouter = false, members } = this.node;
    const { client, host } = await this.clientForCursor(options);
    const home = {
      client,
      calls: this.calls,
      readPreference: options.primary === true ? null : readPreference,
      isRouter,
      times: this.times,
      ...(host !== null && {
        heard: (own: unknown, ...ofSet: unknown[]) => members?.heard(host, own, ...ofSet),
      }),
      failed: (client: MongoClient, error: unknown) => ring.failed(client, error),
    };
    const open = (one: Document, each: CallOptions): Promise<RawCursor> =>
      DriverCursor.open(home, database, stated(database, one), each).catch((error: unknown) => {
        throw failureOfRead(error, one);
      });
    const included = this.times.included(stated(database, command));
    return isRouter && isOrderedReading(command) ? openOrdered(open, included, options) : open(included, options);
  }

  async write(write: RawWrite, ticket: WriteTicket | null, options: CallOptions): Promise<WriteOutcome> {
    const kind = `${write.kind} of ${write.database}.${write.collection}`;
    const reply = await this.call(options, kind, (client, signal) => {
      const command = writeCommand(write, ticket);
      if (options.maxTime_ms !== undefined) command.maxTimeMS = options.maxTime_ms;
      const database = databaseOf(client, write.database);
      if (ticket === null) return database.command(command, { signal });
      return inSession(client, ticket, (session) => database.command(command, { signal, session }));
    });
    this.times.answered(reply);
    return writeOutcome(reply, write);
  }

  /** Ends the calls in flight before the connections, so that the driver keeps no lent session id. */
  async close(): Promise<void> {
    this.leave?.();
    await this.calls.close();
    await Promise.all([this.node.ring.close(), this.node.members?.close()]);
  }

  private async clientForCursor(options: CallOptions): Promise<{ client: MongoClient; host: string | null }> {
    const { ring, members } = this.node;
    const client = ring.current();
    return members === undefined || options.primary === true
      ? { client, host: null }
      : this.calls.run(options, (signal) => members.choose(client, signal), 'hello');
  }

  private async call(
    options: CallOptions,
    kind: string,
    run: (client: MongoClient, signal: AbortSignal) => Promise<Document>,
  ): Promise<Document> {
    const { ring } = this.node;
    const client = ring.current();
    try {
      const reply = await this.calls.run(options, (signal) => run(client, signal), kind);
      this.times.learn(reply);
      this.times.primaryAnswered(reply);
      return reply;
    } catch (error) {
      ring.failed(client, error);
      throw error;
    }
  }
}

/** A server session that the caller chose, and the number of a transaction in it. */
interface ChosenSession {
  /** 16 bytes of the session's UUID. */
  lsid: Uint8Array;
  txnNumber?: bigint;
}

/**
 * Runs a call in a server session of the caller's choice. A driver session borrows the id during the call. So the
 * driver never pools it and never ends it on the server: that would lift its fence.
 */
async function inSession<T>(
  client: MongoClient,
  chosen: ChosenSession,
  call: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const session = client.startSession({ causalConsistency: false });
  const serverSession = session.serverSession;
  const own = { id: serverSession.id, txnNumber: serverSession.txnNumber };
  serverSession.id = { id: new Binary(chosen.lsid, Binary.SUBTYPE_UUID) };
  // commitTransaction and abortTransaction take their number from the driver's session, which stores a double. It is
  // exact below 2^53, which is enough for probes: no other caller has transactions.
  if (chosen.txnNumber !== undefined) serverSession.txnNumber = Number(chosen.txnNumber);
  try {
    return await call(session);
  } finally {
    serverSession.id = own.id;
    serverSession.txnNumber = own.txnNumber;
    await session.endSession();
  }
}

/** The session that a command names in its own `lsid` and `txnNumber` fields, or null. */
function sessionOfCommand(command: Record<string, unknown>): ChosenSession | null {
  const lsid = command.lsid as { id?: unknown } | undefined;
  if (!(lsid?.id instanceof Binary)) return null;
  const number = command.txnNumber;
  const chosen: ChosenSession = { lsid: lsid.id.buffer.subarray(0, lsid.id.position) };
  return number instanceof Long ? { ...chosen, txnNumber: number.toBigInt() } : chosen;
}
