import { type MongoClientOptions, type MongoClient, type Document, type ReadPreferenceLike, Timestamp } from 'mongodb';
import { losesConnection } from '../failure.js';
import type { Wait } from '../../async/clock.js';
// Before the first client connects.
import './driver-receive.js';

/** Default number of connections to one node: apply workers, readers and the store share them. */
const poolSizeDefault = 32;
/** A node that does not answer for this long is left to the retry policy. */
const selection_ms = 10_000;
/**
 * After a member's refusal because of its role, the driver asks nobody else until it has heard from the member again. A
 * member that has nothing new to say about itself, because its refusal came from elsewhere, answers at this interval.
 */
const heartbeat_ms = 2_000;
/** A call that finds no free connection for this long fails as retryable instead of waiting forever. */
const poolWait_ms = 60_000;

/** A connection string may not ask for less: opening a connection with TLS and a login takes part of this time. */
const poolWaitMin_ms = 10_000;
/** The same for choosing a server and for opening a connection: a distant node takes longer than a short limit. */
const selectionMin_ms = 500;
/** The driver looks at each node this often by itself. More rarely, it would miss for long that another one leads. */
const heartbeatMax_ms = 10_000;

/** How connections are opened, in addition to the connection string. */
export interface ConnectionSettings {
  /** Upper bound of connections to each node. */
  poolSizeMax?: number;
}

/**
 * Driver options of every client. The driver retries nothing: Convoy has its own retry policy. There is no limit for
 * silent connections, since some commands are silent for long: each call has its own (`CallsInFlight`). A limit of the
 * connection string would end a command that takes longer in every repetition.
 * @param written options of the connection string, which override the defaults, but for the limit of silent
 * connections, for waits that are too short, and for looks at the nodes that are too rare
 */
export function clientOptions(settings: ConnectionSettings, written = new URLSearchParams()): MongoClientOptions {
  const defaults: MongoClientOptions = {
    appName: 'convoy',
    maxPoolSize: settings.poolSizeMax ?? poolSizeDefault,
    serverSelectionTimeoutMS: selection_ms,
    connectTimeoutMS: selection_ms,
    heartbeatFrequencyMS: heartbeat_ms,
    waitQueueTimeoutMS: poolWait_ms,
  };
  const given = new Map([...written].map(([name, value]) => [name.toLowerCase(), value]));
  const missing = Object.entries(defaults).filter(([name]) => !given.has(name.toLowerCase()));
  // The driver connects to nobody with a minimum above the maximum, which here is Convoy's own.
  const poolSizeMin = Number(given.get('minpoolsize') ?? 0);
  const isAbove = !given.has('maxpoolsize') && poolSizeMin > (settings.poolSizeMax ?? poolSizeDefault);
  const raised = isAbove ? { maxPoolSize: poolSizeMin } : {};
  return {
    ...Object.fromEntries(missing),
    ...raised,
    ...withinBounds(given),
    socketTimeoutMS: 0,
    retryReads: false,
    retryWrites: false,
  };
}

/** Of waits, 0 is no limit. */
function withinBounds(given: ReadonlyMap<string, string>): MongoClientOptions {
  const isShort = (name: string, min_ms: number): boolean => {
    const written_ms = Number(given.get(name) ?? 0);
    return written_ms > 0 && written_ms < min_ms;
  };
  return {
    ...(isShort('waitqueuetimeoutms', poolWaitMin_ms) && { waitQueueTimeoutMS: poolWaitMin_ms }),
    ...(isShort('serverselectiontimeoutms', selectionMin_ms) && { serverSelectionTimeoutMS: selectionMin_ms }),
    ...(isShort('connecttimeoutms', selectionMin_ms) && { connectTimeoutMS: selectionMin_ms }),
    ...(Number(given.get('heartbeatfrequencyms') ?? 0) > heartbeatMax_ms && { heartbeatFrequencyMS: heartbeatMax_ms }),
  };
}

/**
 * The driver clients of a node with several addresses (the routers of one cluster). One is used at a time, because a
 * cursor lives on one router. A network failure switches to the next; open cursors stay on their own.
 */
export class ClientRing {
  private readonly clients: (MongoClient | undefined)[];
  private position = 0;

  /** @param makers one per address, called when the address is first used */
  constructor(private readonly makers: readonly (() => MongoClient)[]) {
    if (makers.length === 0) throw new Error('ClientRing: no address');
    this.clients = makers.map(() => undefined);
  }

  current(): MongoClient {
    const maker = this.makers[this.position];
    if (maker === undefined) throw new Error('ClientRing: position out of range');
    return (this.clients[this.position] ??= maker());
  }

  /** `host:port` of the client in use. */
  get host(): string {
    return String(this.current().options.hosts[0]);
  }

  /** Switches to the next client if the failed one is in use and the failure is the node's fault. */
  failed(client: MongoClient, error: unknown): void {
    if (client === this.clients[this.position] && losesConnection(error))
      this.position = (this.position + 1) % this.makers.length;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client?.close() ?? Promise.resolve()));
  }
}

/** A member that is behind its set by more than this is left out while there is another one. */
const staleBehind_seconds = 30;
/** The driver draws a member each time; so many times in a row it does not draw the same one of two. */
const choicesMax = 10;
/** A member that has not answered for this long is not read any more. */
const heardWithin_ms = 60_000;

/**
 * Clients of single members of a replica set, for reads from other members than the primary. A cursor lives on one
 * member, and the driver would choose a new member for every batch.
 */
export class MemberClients {
  private readonly clients = new Map<string, MongoClient>();
  /** Members that are read and behind, with when they last said so. */
  private readonly stale = new Map<string, number>();

  /**
   * @param readPreference which members to choose
   * @param connect opens a client of one member only, `host:port`
   */
  constructor(
    readonly readPreference: ReadPreferenceLike,
    private readonly connect: (host: string) => MongoClient,
    private readonly now_ms: () => number = () => performance.now(),
  ) {}

  /**
   * A member that the read preference currently allows; one that is far behind only when there is no other.
   * @returns its client, and its name if it has one
   */
  async choose(replicaSet: MongoClient, signal: AbortSignal): Promise<{ client: MongoClient; host: string | null }> {
    for (let choices = 1; ; choices += 1) {
      const hello: Document = await replicaSet
        .db('admin')
        .command({ hello: 1 }, { readPreference: this.readPreference, signal });
      const host: unknown = hello.me;
      // A member without its own name cannot be connected to; the set's client then chooses.
      if (typeof host !== 'string') return { client: replicaSet, host: null };
      const { lastWrite, $clusterTime } = hello as { lastWrite?: { opTime?: Document }; $clusterTime?: Document };
      if (choices < choicesMax && isBehind(lastWrite?.opTime?.ts, $clusterTime?.clusterTime)) continue;
      const client = this.clients.get(host) ?? this.connect(host);
      this.clients.set(host, client);
      return { client, host };
    }
  }

  /**
   * Notes a member's answer.
   * @param ownTime its operation time
   * @param setTimes what it, or the primary, knows of the set's time
   */
  heard(host: string, ownTime: unknown, ...setTimes: unknown[]): void {
    if (setTimes.some((time) => isBehind(ownTime, time))) this.stale.set(host, this.now_ms());
    else this.stale.delete(host);
  }

  /** The members that are read although they are far behind. */
  *waits(label: string): Generator<Wait> {
    for (const [host, heard_ms] of this.stale)
      if (this.now_ms() - heard_ms <= heardWithin_ms)
        yield { from: label, what: `its member ${host}, which is far behind the primary` };
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients.values()].map((client) => client.close()));
  }
}

function isBehind(own: unknown, ofSet: unknown): boolean {
  if (!(own instanceof Timestamp) || !(ofSet instanceof Timestamp)) return false;
  return ofSet.t - own.t > staleBehind_seconds;
}
