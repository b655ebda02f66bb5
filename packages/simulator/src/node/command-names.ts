import { CommandError, type CommandRequest } from './command.js';

/** Older names of commands, by which clients may still call them (server source: the constructors of commands). */
const aliases: ReadonlyMap<string, string> = new Map([
  ...[
    'addShard',
    'addShardToZone',
    'buildInfo',
    'collStats',
    'dataSize',
    'dbStats',
    'enableSharding',
    'findAndModify',
    'flushRouterConfig',
    'listShards',
    'moveChunk',
    'movePrimary',
    'removeShard',
    'removeShardFromZone',
    'shardCollection',
  ].map((name): [string, string] => [name.toLowerCase(), name]),
  ['deleteIndexes', 'dropIndexes'],
  ['updatezonekeyRange', 'updateZoneKeyRange'],
]);

/** Commands that only the database `admin` takes (server source: `adminOnly`). */
const adminCommands: ReadonlySet<string> = new Set([
  'abortReshardCollection',
  'abortTransaction',
  'addShard',
  'addShardToZone',
  'appendOplogNote',
  'balancerCollectionStatus',
  'balancerStart',
  'balancerStatus',
  'balancerStop',
  'cleanupOrphaned',
  'clearJumboFlag',
  'commitTransaction',
  'configureCollectionBalancing',
  'coordinateCommitTransaction',
  'currentOp',
  'enableSharding',
  'flushRouterConfig',
  'fsync',
  'getClusterParameter',
  'getCmdLineOpts',
  'getDefaultRWConcern',
  'getLog',
  'getParameter',
  'getShardMap',
  'killOp',
  'listDatabases',
  'listShards',
  'logRotate',
  'mergeAllChunksOnShard',
  'mergeChunks',
  'moveChunk',
  'movePrimary',
  'moveRange',
  'prepareTransaction',
  'refineCollectionShardKey',
  'removeShard',
  'removeShardFromZone',
  'renameCollection',
  'replSetGetConfig',
  'replSetGetStatus',
  'replSetResizeOplog',
  'reshardCollection',
  'setClusterParameter',
  'setDefaultRWConcern',
  'setFeatureCompatibilityVersion',
  'setParameter',
  'setUserWriteBlockMode',
  'shardCollection',
  'split',
  'transitionFromDedicatedConfigServer',
  'transitionToDedicatedConfigServer',
  'updateZoneKeyRange',
]);

/** Commands by which a client greets a node. */
export const handshakes: ReadonlySet<string> = new Set(['hello', 'isMaster', 'ismaster']);

/** The name that servers know a command by. */
export function commandName(name: string): string {
  return aliases.get(name) ?? name;
}

/** A command under the name that servers know it by. */
export function underItsName<Named extends Pick<CommandRequest, 'name' | 'body'>>(command: Named): Named {
  const name = commandName(command.name);
  if (name === command.name) return command;
  const [[, first] = ['', null], ...rest] = command.body;
  return { ...command, name, body: new Map([[name, first], ...rest]) };
}

/** @throws CommandError 13 for a command of the database `admin` in another one */
export function refuseOutsideAdmin({ db, name }: CommandRequest): void {
  if (db !== 'admin' && adminCommands.has(name))
    throw new CommandError(13, 'Unauthorized', `${name} may only be run against the admin database.`);
}
