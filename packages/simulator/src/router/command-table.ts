import type { Doc } from '../bson/value.js';
import type { CommandRequest } from '../node/command.js';
import { doc } from '../node/doc-fields.js';
import { refuseUnsimulated } from '../node/unsimulated.js';
import { startSession } from '../shard/commands/session-commands.js';
import { currentOpCommand, sessionCommand, appendOplogNoteCommand } from './broadcast-commands.js';
import { collModCommand } from './ddl/coll-mod.js';
import * as collections from './ddl/collection-commands.js';
import { createIndexesCommand, dropIndexesCommand } from './ddl/index-commands.js';
import * as lists from './ddl/list-commands.js';
import { renameCollectionCommand } from './ddl/rename-collection.js';
import * as statistics from './ddl/statistics-commands.js';
import { aggregateCommand } from './read/aggregate-command.js';
import { countCommand, distinctCommand } from './read/count-distinct.js';
import { findCommand } from './read/find-command.js';
import { getMoreCommand, killCursorsCommand } from './read/router-cursors.js';
import type { RouterContext } from './router-context.js';
import { type Balancer, balancerCollectionStatus } from './sharding/balancer.js';
import { configureBalancingCommand } from './sharding/balancer-settings.js';
import * as chunks from './sharding/chunk-commands.js';
import type { Migration } from './sharding/chunk-migration.js';
import { enableShardingCommand, movePrimaryCommand } from './sharding/database-commands.js';
import { moveCollectionCommand, unshardCollectionCommand } from './sharding/move-collection.js';
import { refineShardKeyCommand } from './sharding/refine-shard-key.js';
import { reshardCollectionCommand } from './sharding/reshard-collection.js';
import { shardCollectionCommand } from './sharding/shard-collection.js';
import {
  addShardCommand,
  type AvailableShards,
  beginConfigShard,
  getShardMap,
  listShards,
  removeShardCommand,
} from './sharding/shard-commands.js';
import {
  addShardToZoneCommand,
  removeShardFromZoneCommand,
  updateZoneKeyRangeCommand,
} from './sharding/zone-commands.js';
import { retriedWhenStale } from './target/stale-routing.js';
import { modifyingSeries, onBucketKeys, onBuckets, refusingSeries, shardingSeries } from './time-series.js';
import { abortTransactionCommand, commitTransactionCommand } from './transaction-commands.js';
import { bulkWrite } from './write/bulk-write.js';
import { findAndModifyCommand } from './write/find-and-modify.js';

/** A command of a router. */
export type Command = (context: RouterContext, request: CommandRequest) => Doc | Promise<Doc>;

/** Every command that a router answers with its shards, by name. */
export function routerCommands(
  balancer: Balancer,
  migration: Migration,
  available: AvailableShards,
): ReadonlyMap<string, Command> {
  return new Map([
    ...dataCommands,
    ...ddlCommands,
    ...sessionCommands,
    ...shardingCommands(balancer, migration, available),
  ]);
}

const dataCommands: readonly (readonly [string, Command])[] = [
  ['find', fresh(findCommand)],
  ['aggregate', fresh(aggregateCommand)],
  ['getMore', getMoreCommand],
  ['killCursors', killCursorsCommand],
  ['count', fresh(countCommand)],
  ['distinct', fresh(distinctCommand)],
  ['insert', onBuckets((context, request) => bulkWrite(context, request, 'insert'))],
  ['update', onBuckets((context, request) => bulkWrite(context, request, 'update'))],
  ['delete', onBuckets((context, request) => bulkWrite(context, request, 'delete'))],
  ['findAndModify', refusingSeries(fresh(findAndModifyCommand))],
];

const ddlCommands: readonly (readonly [string, Command])[] = [
  ['create', collections.createCommand],
  ['drop', collections.dropCommand],
  ['dropDatabase', collections.dropDatabaseCommand],
  ['renameCollection', renameCollectionCommand],
  ['collMod', modifyingSeries(lookingUp(collModCommand, { refreshes: false }))],
  ['convertToCapped', collections.convertToCappedCommand],
  ['createIndexes', onBuckets(lookingUp(createIndexesCommand, { refreshes: true }))],
  ['dropIndexes', onBuckets(lookingUp(dropIndexesCommand, { refreshes: false }))],
  ['listCollections', lists.listCollectionsCommand],
  ['listIndexes', onBuckets(lookingUp(lists.listIndexesCommand, { refreshes: true }))],
  ['listDatabases', lists.listDatabasesCommand],
  ['collStats', onBuckets(lookingUp(statistics.collStatsCommand, { refreshes: true }))],
  ['dbStats', statistics.dbStatsCommand],
  ['dataSize', statistics.dataSizeCommand],
  ['validate', statistics.validateCommand],
  ['appendOplogNote', appendOplogNoteCommand],
];

const sessionCommands: readonly (readonly [string, Command])[] = [
  ['startSession', startSession],
  ['currentOp', currentOpCommand],
  ['endSessions', sessionCommand],
  ['refreshSessions', sessionCommand],
  ['killSessions', sessionCommand],
  ['killAllSessions', sessionCommand],
  ['commitTransaction', commitTransactionCommand],
  ['abortTransaction', abortTransactionCommand],
];

function shardingCommands(
  balancer: Balancer,
  migration: Migration,
  available: AvailableShards,
): readonly (readonly [string, Command])[] {
  return [
    ['listShards', listShards],
    ['getShardMap', getShardMap],
    ['enableSharding', changingDatabase(enableShardingCommand)],
    ['movePrimary', changingDatabase((context, request) => movePrimaryCommand(context, request, migration))],
    ['shardCollection', shardingSeries(shardCollectionCommand)],
    ['reshardCollection', onBucketKeys(reshardCollectionCommand)],
    ['moveCollection', onBucketKeys((context, request) => moveCollectionCommand(context, request, migration))],
    ['unshardCollection', onBucketKeys((context, request) => unshardCollectionCommand(context, request, migration))],
    ...unsimulatedCommands.map((name): [string, Command] => [name, (_context, request) => refuseUnsimulated(request)]),
    ['refineCollectionShardKey', onBucketKeys(refineShardKeyCommand)],
    ['split', chunks.splitCommand],
    ['mergeChunks', chunks.mergeChunksCommand],
    ['clearJumboFlag', chunks.clearJumboCommand],
    ['addShard', (context, request) => addShardCommand(context, request, available)],
    ['removeShard', removeShardCommand],
    ['transitionFromDedicatedConfigServer', beginConfigShard],
    ['moveChunk', (context, request) => chunks.moveChunkCommand(context, request, migration)],
    ['addShardToZone', addShardToZoneCommand],
    ['removeShardFromZone', removeShardFromZoneCommand],
    ['updateZoneKeyRange', updateZoneKeyRangeCommand],
    ['configureCollectionBalancing', configureBalancingCommand],
    ['balancerStart', () => balancer.start()],
    ['balancerStop', () => balancer.stop()],
    ['balancerStatus', () => balancer.status()],
    ['balancerCollectionStatus', (context, request) => balancerCollectionStatus(context, request, balancer)],
    ['flushRouterConfig', flushRouting],
  ];
}

/** Commands that routers of some releases have and that are not simulated. They are refused by name, never ignored. */
const unsimulatedCommands: readonly string[] = [
  'abortMoveCollection',
  'abortReshardCollection',
  'abortUnshardCollection',
  'analyzeShardKey',
  'bulkWrite',
  'connPoolStats',
  'explain',
  'fsync',
  'killOp',
  'logRotate',
  'mergeAllChunksOnShard',
  'moveRange',
  'transitionToDedicatedConfigServer',
];

/** Refreshes the routing and retries when a shard reports that it is stale. */
function fresh(command: Command): Command {
  return (context, request) => retriedWhenStale(context, request, command);
}

/** `flushRouterConfig`: of everything, of a database or of a collection. */
function flushRouting({ routing }: RouterContext, { name, body }: CommandRequest): Doc {
  const flushed = body.get(name);
  if (typeof flushed !== 'string') routing.clear();
  else if (flushed.includes('.')) routing.forget(flushed);
  else routing.forgetDatabase(flushed);
  return doc(['flushed', true]);
}

/** A command on a database, after which the router looks up anew what is in it, even where the command fails. */
function changingDatabase(command: Command): Command {
  return async (context, request) => {
    try {
      return await command(context, request);
    } finally {
      const database = request.body.get(request.name);
      if (typeof database === 'string') context.routing.forgetDatabase(database);
    }
  };
}

/**
 * A command on a collection, after which the router knows what it has looked up for it.
 * @param refreshes whether shards refuse it when the router knows an old state of a sharded collection, so that it
 * refreshes
 */
function lookingUp(command: Command, { refreshes }: { refreshes: boolean }): Command {
  return (context, request) => {
    const collection = request.body.get(request.name);
    if (typeof collection === 'string') {
      const namespace = `${request.db}.${collection}`;
      const known = context.routing.collection(namespace);
      if (refreshes && known !== undefined) context.routing.forget(namespace);
      context.routing.collection(namespace);
    }
    return command(context, request);
  };
}
