import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type ClientSession, type Document, type Long, Timestamp } from 'mongodb';
import { asLong, endMark, EventStream, type StreamOf } from './event-stream.js';
import { codeIn, expectSame, shownReply, valuesOf } from './expectation.js';
import { NumberedSession } from './numbered-session.js';
import { DoesNotHold, isAtLeast, NotTried, type Topology, type Version } from './probe.js';
import type { Reached } from './reach.js';
import { type Asked, type Observer, plain, type Server } from './server.js';

/** What a run gives to each of its fixtures. */
export interface FixtureOptions {
  readonly reached: Reached;
  /** The scratch database. */
  readonly db: string;
  /** State that probes reuse: the name of the collection on two shards, once it exists. */
  readonly shared: { split: string | null };
  /** How long a probe reads a stream for an event that should not arrive. */
  readonly patience_ms: number;
  readonly observe: Observer;
  /** Receives every reply unchanged. */
  readonly record: (asked: Asked, reply: Document) => void;
  readonly signal: AbortSignal;
}

const unauthorized = 13;
/** LockBusy, WriteConflict, ConflictingOperationInProgress, LockTimeout: another operation runs for a moment. */
const busyCodes: ReadonlySet<number> = new Set([24, 46, 112, 117]);
/** Waits for a balancer that is moving a chunk. */
const tries = 40;
const pause_ms = 250;

/** A document on each shard of `split` collections. */
export const oneOnEachShard: readonly Document[] = [
  { _id: 1, sk: -1 },
  { _id: 2, sk: 1 },
];

/** What one probe works with: the servers, and its own collections in the scratch database. */
export class Fixture {
  readonly db: string;
  readonly topology: Topology;
  readonly version: Version;
  /** The router, or the primary of the replica set. */
  readonly front: Server;
  readonly #sessions: ClientSession[] = [];
  readonly #logins: Server[] = [];
  #collections = 0;

  constructor(
    private readonly probe: string,
    private readonly options: FixtureOptions,
  ) {
    const { reached, db } = options;
    [this.db, this.topology, this.version, this.front] = [db, reached.topology, reached.version, reached.front];
  }

  /** The shard that holds unsharded collections of the scratch database, or the replica set. */
  get shard(): Server {
    return this.#shardAt(0);
  }

  /** The other shard of `split` collections. */
  get otherShard(): Server {
    return this.#shardAt(1);
  }

  /** Ids of those two, as the router knows them. */
  get shardIds(): readonly string[] {
    return this.options.reached.shardIds;
  }

  get patience_ms(): number {
    return this.options.patience_ms;
  }

  /** The router, and the shard itself if it can be reached; a replica set is one of both. */
  get everywhere(): readonly Server[] {
    return [...new Set([this.front, ...this.options.reached.shards.slice(0, 1)])];
  }

  isAtLeast(...release: Version): boolean {
    return isAtLeast(this.version, release);
  }

  get isSharded(): boolean {
    return this.topology === 'sharded';
  }

  #shardAt(index: number): Server {
    const shard = this.options.reached.shards[index];
    if (shard === undefined)
      throw new NotTried(`the shards cannot be reached directly: ${this.options.reached.withoutShards}`);
    return shard;
  }

  /** @returns the reply unchanged, also of a refusal */
  ask(command: Document, on = this.front, db = this.db): Promise<Document> {
    return this.#ask(on, db, command);
  }

  /**
   * Runs a command that must succeed before the probe can be tried. @throws NotTried if a privilege is missing,
   * DoesNotHold
   */
  async done(command: Document, on = this.front, db = this.db): Promise<Document> {
    for (let left = tries; ; left -= 1) {
      const reply = await this.#ask(on, db, command);
      const code = codeIn(reply);
      if (code === 0) return reply;
      const [name = ''] = Object.keys(command);
      if (code === unauthorized) throw new NotTried(`the login may not ${name}`);
      if (left <= 1 || !busyCodes.has(code)) throw new DoesNotHold(`${name} succeeds`, shownReply(reply));
      await wait(pause_ms, undefined, { signal: this.options.signal });
    }
  }

  adminDone(command: Document, on = this.front): Promise<Document> {
    return this.done(command, on, 'admin');
  }

  /** All documents of a find or aggregate that must succeed. */
  async rows(command: Document, on = this.front, db = this.db): Promise<Document[]> {
    let { cursor } = (await this.done(command, on, db)) as {
      cursor: { id: Long; ns: string; firstBatch: Document[]; nextBatch?: Document[] };
    };
    const rows = [...cursor.firstBatch];
    while (!asLong(cursor.id).isZero()) {
      ({ cursor } = (await this.done(
        { getMore: asLong(cursor.id), collection: cursor.ns.slice(db.length + 1) },
        on,
        db,
      )) as { cursor: typeof cursor });
      rows.push(...(cursor.nextBatch ?? []));
    }
    return rows;
  }

  /** Checks the documents that a command returns from the router, and from the shard itself. @throws DoesNotHold */
  async expectRows(what: string, command: Document, expected: readonly unknown[], field?: string): Promise<void> {
    for (const on of this.everywhere) {
      const rows = await this.rows(command, on);
      expectSame(`${what}, on ${on.name}`, field === undefined ? rows : valuesOf(rows, field), expected);
    }
  }

  /** A name for a collection that no other probe uses. */
  newName(): string {
    this.#collections += 1;
    return `${this.probe}_${this.#collections}`;
  }

  /** Creates an unsharded collection. @returns its name */
  async collection(documents: readonly Document[] = [], options: Document = {}): Promise<string> {
    const name = this.newName();
    await this.done({ create: name, ...options });
    if (documents.length > 0) await this.insert(name, documents);
    return name;
  }

  /**
   * A collection sharded by `sk`: negative values are on the first shard, the rest on the other. Probes reuse it, since
   * moving a chunk takes time; none changes its definition. It is emptied first.
   * @returns its name
   */
  async split(documents: readonly Document[] = []): Promise<string> {
    const { shared } = this.options;
    if (shared.split === null) shared.split = await this.ownSplit();
    else await this.done({ delete: shared.split, deletes: [{ q: {}, limit: 0 }], writeConcern: { w: 'majority' } });
    if (documents.length > 0) await this.insert(shared.split, documents);
    return shared.split;
  }

  /** The same for one probe only. @returns its name */
  async ownSplit(documents: readonly Document[] = []): Promise<string> {
    const name = this.newName();
    await this.adminDone({ shardCollection: `${this.db}.${name}`, key: { sk: 1 } });
    await this.splitAt(name, 0);
    // Move both: a balancer that runs in between may have moved the wrong one.
    await this.move(name, -1, 0);
    await this.move(name, 0, 1);
    // Shards learn of the move with the first command, which would abort a transaction.
    await this.rows({ find: name });
    if (documents.length > 0) await this.insert(name, documents);
    return name;
  }

  splitAt(name: string, sk: number): Promise<Document> {
    return this.adminDone({ split: `${this.db}.${name}`, middle: { sk } });
  }

  /** Moves the chunk of a value to one of the two shards. */
  move(name: string, sk: number, shard: number): Promise<Document> {
    return this.adminDone({ moveChunk: `${this.db}.${name}`, find: { sk }, to: this.shardIds[shard] ?? '' });
  }

  /** @returns the new name */
  async rename(name: string, to = this.newName(), more: Document = {}): Promise<string> {
    await this.adminDone({ renameCollection: `${this.db}.${name}`, to: `${this.db}.${to}`, ...more });
    return to;
  }

  index(name: string, index: Document): Promise<Document> {
    return this.done({ createIndexes: name, indexes: [index] });
  }

  /** Inserts into a new collection, or a given one. @returns its name and the time of the write */
  async filled(documents: readonly Document[], collection = this.collection()): Promise<[string, Timestamp]> {
    const name = await collection;
    return [name, await this.insert(name, documents)];
  }

  /** Deletes one document. */
  remove(name: string, q: Document, more: Document = {}): Promise<Document> {
    return this.done({ delete: name, deletes: [{ q, limit: 1 }], ...more });
  }

  /** @returns the time of the write */
  async insert(name: string, documents: readonly Document[]): Promise<Timestamp> {
    return timeOf(await this.done({ insert: name, documents, writeConcern: { w: 'majority' } }));
  }

  /** @returns the time of the write */
  async update(name: string, q: Document, u: Document | readonly Document[]): Promise<Timestamp> {
    return timeOf(await this.done({ update: name, updates: [{ q, u }], writeConcern: { w: 'majority' } }));
  }

  /** The current time of a server: at least the time of everything that this probe has done there. */
  async now(on = this.front): Promise<Timestamp> {
    return timeOf(await this.done({ ping: 1 }, on));
  }

  /** A collection as `listCollections` returns it. */
  async listed(name: string, on = this.front): Promise<Document | undefined> {
    return (await this.rows({ listCollections: 1, filter: { name } }, on))[0];
  }

  /** Its UUID. */
  async uuid(name: string, on = this.front): Promise<unknown> {
    return ((await this.listed(name, on))?.info as { uuid?: unknown } | undefined)?.uuid;
  }

  /** What the config database says about a sharded collection. */
  async sharding(name: string): Promise<Document | undefined> {
    const command = { find: 'collections', filter: { _id: `${this.db}.${name}` } };
    return (await this.rows(command, this.front, 'config'))[0];
  }

  stream(of: StreamOf): Promise<EventStream> {
    return EventStream.open(this, of);
  }

  /**
   * Reads a stream up to now: up to a marker that it first writes, into the stream's collection or a separate one.
   * @param fields of the marker, as a shard key
   */
  async read(of: StreamOf, fields: Document = {}): Promise<EventStream> {
    await this.insert(of.collection ?? endMark, [{ [endMark]: 1, ...fields }]);
    const stream = await this.stream(of);
    await stream.until(({ isAtEnd }) => isAtEnd);
    return stream;
  }

  /**
   * Advances idle shards to the current time, by a read after it; without the privilege, they advance by themselves.
   */
  async wake(): Promise<void> {
    if (!this.isSharded) return;
    const { $clusterTime } = await this.#ask(this.front, this.db, { ping: 1 });
    const afterClusterTime = ($clusterTime as { clusterTime: Timestamp } | undefined)?.clusterTime;
    await this.#ask(this.front, this.db, {
      ...EventStream.command({}),
      readConcern: { level: 'majority', afterClusterTime },
    });
  }

  session(): NumberedSession {
    const session = this.front.startSession();
    this.#sessions.push(session);
    return new NumberedSession(session, (db, command) => this.#ask(this.front, db ?? this.db, command, session));
  }

  /** Creates a user of the scratch database on a server. @returns the server, or `loginOn`, as that user */
  async as(roles: readonly string[], on = this.front, loginOn = on): Promise<Server> {
    const [user, password] = [`probe_${randomBytes(4).toString('hex')}`, randomBytes(16).toString('hex')];
    await this.done({ createUser: user, pwd: password, roles: roles.map((role) => ({ role, db: 'admin' })) }, on);
    const server = this.options.reached.loginTo(loginOn, { user, password, authSource: this.db });
    this.#logins.push(server);
    return server;
  }

  /** Ends transactions and sessions that the probe has left open. */
  async close(): Promise<void> {
    for (const session of this.#sessions) {
      const { id } = session.serverSession;
      await this.front.ask('admin', { killSessions: [{ id: id.id as unknown }] });
      await session.endSession();
    }
    await Promise.all(this.#logins.map((server) => server.close()));
  }

  async #ask(on: Server, db: string, command: Document, session?: ClientSession): Promise<Document> {
    const { observe, record, signal } = this.options;
    const reply = await on.ask(db, command, { signal, ...(session !== undefined && { session }) });
    const asked = { on: on.name, db, command };
    record(asked, reply);
    return observe(asked, plain(reply));
  }
}

/** The operation time of a reply: for a write, the time of the write. */
export function timeOf(reply: Document): Timestamp {
  return reply.operationTime as Timestamp;
}

/** The first time after another one. */
export function after(time: Timestamp): Timestamp {
  return new Timestamp({ t: time.t, i: time.i + 1 });
}
