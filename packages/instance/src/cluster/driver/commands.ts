import { type Document, type ClientSession, type ClusterTime, Timestamp, type Db, type MongoClient } from 'mongodb';
import { keepTime } from './driver-receive.js';

// What every command gets before it is sent: concerns, the time that a read waits for, its kind, its database.

/**
 * The command with all that the defaults of a cluster would otherwise decide: its write concern or read concern
 * (`setDefaultRWConcern`), and that a read has no time limit (`defaultMaxTimeMS`, 8.0). A `maxTimeMS` of 0 counts as
 * given, also for the later batches of the cursor (server source: `getRequestOrDefaultMaxTimeMS`). What the command
 * states itself stays, and the statements of a transaction take nothing.
 * @param database a read of what a cluster keeps about itself is one at majority
 */
export function stated(database: string, command: Document): Document {
  if (command.autocommit !== undefined) return command;
  const takes = takenBy(command);
  if (takes === 'writeConcern')
    return command.writeConcern === undefined ? { ...command, writeConcern: { w: 'majority' } } : command;
  if (takes !== 'readConcern') return command;
  const { readConcern = { level: defaultLevel(database, command) }, maxTimeMS = 0 } = command as Record<
    string,
    unknown
  >;
  return { ...command, readConcern, maxTimeMS };
}

/** Whether a majority has what a command changed when it is answered. */
export function changesAtMajority({ writeConcern, setUserWriteBlockMode }: Document): boolean {
  return writeConcern !== undefined || setUserWriteBlockMode !== undefined;
}

/** The databases in which a cluster keeps its users, roles, places and settings. */
const clusterDatabases: ReadonlySet<string> = new Set(['admin', 'config']);

/**
 * What servers take by themselves, but for change streams, which have one level only, and for what a cluster keeps
 * about itself: Convoy builds on that, and one member alone may lack it or may lose it again. Stages that show
 * statistics of a node have no collection, and no other level than their own.
 */
function defaultLevel(database: string, command: Document): 'local' | 'majority' {
  if (firstStage(command)?.$changeStream !== undefined) return 'majority';
  const isOfCollection = typeof Object.values(command)[0] === 'string';
  return isOfCollection && clusterDatabases.has(database) ? 'majority' : 'local';
}

/** What a command takes; null for one without a row below. */
export function takenBy(command: Document): Takes | null {
  return commands[Object.keys(command)[0] ?? ''] ?? null;
}

/** What servers add to a command that does not state it, by the defaults of their cluster. */
type Takes = 'writeConcern' | 'readConcern' | 'neither';

/**
 * Every command that Convoy sends, and what it takes. A command that changes something states a write concern. A read
 * of documents states a read concern and a time limit. All others refuse a write concern, and take no default read
 * concern (server source: `supportsWriteConcern`, `supportsReadConcern` and `getReadWriteType` of the commands).
 */
const commands: Readonly<Record<string, Takes>> = {
  appendOplogNote: 'writeConcern',
  collMod: 'writeConcern',
  create: 'writeConcern',
  createIndexes: 'writeConcern',
  createRole: 'writeConcern',
  delete: 'writeConcern',
  drop: 'writeConcern',
  dropDatabase: 'writeConcern',
  dropIndexes: 'writeConcern',
  enableSharding: 'writeConcern',
  findAndModify: 'writeConcern',
  insert: 'writeConcern',
  renameCollection: 'writeConcern',
  setDefaultRWConcern: 'writeConcern',
  shardCollection: 'writeConcern',
  update: 'writeConcern',
  aggregate: 'readConcern',
  count: 'readConcern',
  find: 'readConcern',
  // The config server writes what these change at majority, whatever the defaults are.
  addShardToZone: 'neither',
  balancerStart: 'neither',
  balancerStop: 'neither',
  configureCollectionBalancing: 'neither',
  removeShardFromZone: 'neither',
  setClusterParameter: 'neither',
  setQuerySettings: 'neither',
  setUserWriteBlockMode: 'neither',
  updateZoneKeyRange: 'neither',
  balancerStatus: 'neither',
  buildInfo: 'neither',
  connPoolStats: 'neither',
  connectionStatus: 'neither',
  dataSize: 'neither',
  dbStats: 'neither',
  flushRouterConfig: 'neither',
  getClusterParameter: 'neither',
  getDefaultRWConcern: 'neither',
  getMore: 'neither',
  getParameter: 'neither',
  hello: 'neither',
  isMaster: 'neither',
  killCursors: 'neither',
  listCollections: 'neither',
  listDatabases: 'neither',
  listIndexes: 'neither',
  listShards: 'neither',
  moveChunk: 'neither',
  ping: 'neither',
  profile: 'neither',
  refreshSessions: 'neither',
  replSetGetConfig: 'neither',
  replSetGetStatus: 'neither',
  shardingState: 'neither',
  split: 'neither',
};

/**
 * The times from which reads through a client are causal. A majority read shows what its node knows to be
 * majority-committed: a primary that was just elected may not know that yet for a write that was acknowledged, or that
 * an earlier read has shown.
 */
export class CausalTimes {
  #latest: Timestamp | null = null;
  #clusterTime: ClusterTime | null = null;
  #primary: Timestamp | null = null;

  /** The latest operation time of the primary that this client has seen; null before. */
  get ofPrimary(): Timestamp | null {
    return this.#primary;
  }

  /** Records the operation time of a primary's reply. */
  primaryAnswered({ operationTime }: Document): void {
    if (!(operationTime instanceof Timestamp)) return;
    if (this.#primary === null || operationTime.greaterThan(this.#primary)) this.#primary = operationTime;
  }

  /** Records the cluster time of any reply. */
  learn({ $clusterTime }: { $clusterTime?: Partial<ClusterTime> | undefined }): void {
    if ($clusterTime?.clusterTime === undefined || $clusterTime.signature === undefined) return;
    if (this.#clusterTime !== null && !$clusterTime.clusterTime.greaterThan(this.#clusterTime.clusterTime)) return;
    keepTime($clusterTime);
    this.#clusterTime = $clusterTime as ClusterTime;
  }

  /** Records the operation time of a reply to a write, or to a read at majority; replies arrive in any order. */
  answered({ operationTime }: Document): void {
    if (!(operationTime instanceof Timestamp)) return;
    if (this.#latest === null || operationTime.greaterThan(this.#latest)) this.#latest = operationTime;
  }

  /**
   * A majority read without a time waits for what was answered; any other command stays unchanged, and so do change
   * streams, which begin at a time of their own.
   */
  included(command: Document): Document {
    const concern = command.readConcern as Document | undefined;
    if (this.#latest === null || !isMajorityRead(command) || concern?.afterClusterTime !== undefined) return command;
    if (firstStage(command)?.$changeStream !== undefined) return command;
    return { ...command, readConcern: { ...concern, afterClusterTime: this.#latest } };
  }

  /** Advances the session's cluster time: another router or member would refuse a time that it does not know (72). */
  prepare(session: ClientSession): void {
    if (this.#clusterTime !== null) session.advanceClusterTime(this.#clusterTime);
  }
}

/** Whether a command reads at majority. */
export function isMajorityRead({ readConcern }: Document): boolean {
  return (readConcern as Document | undefined)?.level === 'majority';
}

/** What cursors without a collection of their own have as its name: streams of a cluster, and statistics. */
const noCollection = '$cmd.aggregate';

/** A command and its namespace, for example `find of shop.orders`: what is slow once may be so again. */
export function callKind(database: string, command: Document): string {
  const [name = ''] = Object.keys(command);
  const value: unknown = name === 'getMore' ? command.collection : command[name];
  if (value === noCollection || firstStage(command)?.$changeStream !== undefined) return `${name} of a change stream`;
  if (typeof value === 'string') return `${name} of ${database}.${value}`;
  const [stage] = Object.keys(firstStage(command) ?? {});
  return stage === undefined ? name : `${name} of ${stage}`;
}

function firstStage({ pipeline }: Document): Document | undefined {
  return Array.isArray(pipeline) ? (pipeline as Document[])[0] : undefined;
}

/** Databases cached for a client, of some hundred bytes each; beyond that its cache is cleared. */
const databasesMax = 1_000;

const cached = new WeakMap<MongoClient, Map<string, Db>>();

/**
 * A database of a client, cached for its next command. Otherwise the driver copies all options of the client each time,
 * which took 3 % of the CPU of a small migration.
 */
export function databaseOf(client: MongoClient, name: string): Db {
  const databases = cached.get(client) ?? new Map<string, Db>();
  const known = databases.get(name);
  if (known !== undefined) return known;
  if (databases.size >= databasesMax) databases.clear();
  const database = client.db(name);
  cached.set(client, databases.set(name, database));
  return database;
}
