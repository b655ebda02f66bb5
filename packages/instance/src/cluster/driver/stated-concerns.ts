import type { Document } from 'mongodb';

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
  ping: 'neither',
  profile: 'neither',
  refreshSessions: 'neither',
  replSetGetConfig: 'neither',
  replSetGetStatus: 'neither',
  shardingState: 'neither',
};

/** What a command takes; null for one without a row above. */
export function takenBy(command: Document): Takes | null {
  return commands[Object.keys(command)[0] ?? ''] ?? null;
}

/**
 * The command with all that the defaults of a cluster would otherwise decide: its write concern or read concern
 * (`setDefaultRWConcern`), and that a read has no time limit (`defaultMaxTimeMS`, 8.0). A `maxTimeMS` of 0 counts as
 * given, also for the later batches of the cursor (server source: `getRequestOrDefaultMaxTimeMS`). What the command
 * states itself stays, and the statements of a transaction take nothing.
 */
export function stated(command: Document): Document {
  if (command.autocommit !== undefined) return command;
  const takes = takenBy(command);
  if (takes === 'writeConcern')
    return command.writeConcern === undefined ? { ...command, writeConcern: { w: 'majority' } } : command;
  if (takes !== 'readConcern') return command;
  const { readConcern = { level: defaultLevel(command) }, maxTimeMS = 0 } = command as Record<string, unknown>;
  return { ...command, readConcern, maxTimeMS };
}

/** Whether a majority has what a command changed when it is answered. */
export function changesAtMajority({ writeConcern, setUserWriteBlockMode }: Document): boolean {
  return writeConcern !== undefined || setUserWriteBlockMode !== undefined;
}

/** What servers take by themselves; change streams have one level only, and stages that show statistics the other. */
function defaultLevel({ pipeline }: Document): 'local' | 'majority' {
  const [first] = (pipeline ?? []) as Document[];
  return first?.$changeStream === undefined ? 'local' : 'majority';
}
