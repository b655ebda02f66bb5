import type { Doc } from '../bson/value.js';
import { unsimulatedCommands } from './unsimulated-commands.js';
import { Diagnostics } from '../handshake/diagnostics.js';
import { clusterTimeField } from '../handshake/cluster-time.js';
import type { NodeIdentity } from '../handshake/node-identity.js';
import { countCommand } from '../handshake/server-status.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { withActualCollection } from './actual-collection.js';
import { databaseOf } from '../node/namespace.js';
import { hasCommand, nameCodes, refuseForeignFields } from '../node/release-rules.js';
import { refuseUnsimulated } from '../node/unsimulated.js';
import type { CommandOutcome, ServedNode } from '../wire/served-node.js';
import { collModCommand } from './ddl/coll-mod.js';
import * as collections from './ddl/collection-commands.js';
import * as lists from './ddl/list-commands.js';
import * as statistics from './ddl/statistics-commands.js';
import { aggregateCommand } from './read/aggregate-command.js';
import { countCommand as countDocuments, distinctCommand } from './read/count-distinct.js';
import { getMoreCommand, killCursorsCommand } from './read/cursor-commands.js';
import { findCommand } from './read/find-command.js';
import type { RouterContext } from './router-context.js';
import { currentOperations, sessionCommand, startSession } from './session-commands.js';
import { abortTransaction, commitTransaction, runStatement } from './transaction-commands.js';
import type { Balancer } from './sharding/balancer.js';
import { balancerCollectionStatus } from './sharding/balancer-commands.js';
import * as chunks from './sharding/chunk-commands.js';
import type { Migration } from './sharding/chunk-migration.js';
import {
  addShardCommand,
  type AvailableShards,
  beginConfigShard,
  getShardMap,
  listShards,
  removeShardCommand,
} from './sharding/shard-commands.js';
import { type Command, flushRouting, lookingUp, onDatabase } from './target/lookups.js';
import { enableShardingCommand, movePrimaryCommand } from './sharding/database-commands.js';
import { moveCollectionCommand, unshardCollectionCommand } from './sharding/move-collection.js';
import { reshardCollectionCommand } from './sharding/reshard-collection.js';
import { refineShardKeyCommand } from './sharding/refine-shard-key.js';
import { shardCollectionCommand } from './sharding/shard-collection.js';
import { appendOplogNoteCommand } from './stream/oplog-note.js';
import {
  addShardToZoneCommand,
  removeShardFromZoneCommand,
  updateZoneKeyRangeCommand,
} from './sharding/zone-commands.js';
import { retriedWhenStale } from './target/stale-routing.js';
import { bulkWrite } from './write/bulk-write.js';
import { findAndModifyCommand } from './write/find-and-modify.js';

/** Refreshes the routing and retries when a shard reports that it is stale. */
function fresh(command: Command): Command {
  return (context, request) => retriedWhenStale(context, request, command);
}

const dataCommands: readonly (readonly [string, Command])[] = [
  ['find', fresh(findCommand)],
  ['aggregate', fresh(aggregateCommand)],
  ['getMore', getMoreCommand],
  ['killCursors', killCursorsCommand],
  ['count', fresh(countDocuments)],
  ['distinct', fresh(distinctCommand)],
  ['insert', (context, request) => bulkWrite(context, request, 'insert')],
  ['update', (context, request) => bulkWrite(context, request, 'update')],
  ['delete', (context, request) => bulkWrite(context, request, 'delete')],
  ['findAndModify', fresh(findAndModifyCommand)],
];

const ddlCommands: readonly (readonly [string, Command])[] = [
  ['create', collections.createCommand],
  ['drop', collections.dropCommand],
  ['dropDatabase', collections.dropDatabaseCommand],
  ['renameCollection', collections.renameCollectionCommand],
  ['collMod', lookingUp(collModCommand, { refreshes: false })],
  ['convertToCapped', collections.convertToCappedCommand],
  ['createIndexes', lookingUp(collections.createIndexesCommand, { refreshes: true })],
  ['dropIndexes', lookingUp(collections.dropIndexesCommand, { refreshes: false })],
  ['listCollections', lists.listCollectionsCommand],
  ['listIndexes', lookingUp(lists.listIndexesCommand, { refreshes: true })],
  ['listDatabases', lists.listDatabasesCommand],
  ['collStats', lookingUp(statistics.collStatsCommand, { refreshes: true })],
  ['dbStats', statistics.dbStatsCommand],
  ['dataSize', statistics.dataSizeCommand],
  ['validate', statistics.validateCommand],
  ['appendOplogNote', appendOplogNoteCommand],
];

const sessionCommands: readonly (readonly [string, Command])[] = [
  ['startSession', startSession],
  ['currentOp', currentOperations],
  ['endSessions', sessionCommand],
  ['refreshSessions', sessionCommand],
  ['killSessions', sessionCommand],
  ['killAllSessions', sessionCommand],
  ['commitTransaction', commitTransaction],
  ['abortTransaction', abortTransaction],
];

function shardingCommands(
  balancer: Balancer,
  migration: Migration,
  available: AvailableShards,
): readonly (readonly [string, Command])[] {
  return [
    ['listShards', listShards],
    ['getShardMap', getShardMap],
    ['enableSharding', onDatabase(enableShardingCommand)],
    ['movePrimary', onDatabase((context, request) => movePrimaryCommand(context, request, migration))],
    ['shardCollection', shardCollectionCommand],
    ['reshardCollection', reshardCollectionCommand],
    ['moveCollection', (context, request) => moveCollectionCommand(context, request, migration)],
    ['unshardCollection', (context, request) => unshardCollectionCommand(context, request, migration)],
    ...unsimulatedCommands.map((name): [string, Command] => [name, (_context, request) => refuseUnsimulated(request)]),
    ['refineCollectionShardKey', refineShardKeyCommand],
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
    ['balancerStart', () => balancer.start()],
    ['balancerStop', () => balancer.stop()],
    ['balancerStatus', () => balancer.status()],
    ['balancerCollectionStatus', (context, request) => balancerCollectionStatus(context, request, balancer)],
    ['flushRouterConfig', flushRouting],
  ];
}

/** DDL changes that a cluster coordinates, and refuses while user writes are blocked. */
const shardedDefinitions: ReadonlySet<string> = new Set([
  'collMod',
  'drop',
  'dropDatabase',
  'moveCollection',
  'movePrimary',
  'refineCollectionShardKey',
  'renameCollection',
  'reshardCollection',
  'shardCollection',
  'unshardCollection',
]);

/** Those that wait for each other: `movePrimary` takes along what it finds, and chunks are where collections are. */
const lockedDefinitions: ReadonlySet<string> = new Set([
  'drop',
  'dropDatabase',
  'movePrimary',
  'refineCollectionShardKey',
  'renameCollection',
  'shardCollection',
]);

/** The database of a DDL change: that of the command's namespace, or the one it was sent to. */
function definedDatabase(request: CommandRequest): string {
  const named = request.body.get(request.name);
  if (request.db !== 'admin' || typeof named !== 'string') return request.db;
  return databaseOf(named);
}

/** `$out` ends with a rename. */
function renamesOutput({ name, body }: CommandRequest): boolean {
  const pipeline = body.get('pipeline');
  const last = name === 'aggregate' && Array.isArray(pipeline) ? pipeline.at(-1) : undefined;
  return last instanceof Map && last.has('$out');
}

const endsTransaction: ReadonlySet<string> = new Set(['commitTransaction', 'abortTransaction']);

/** Commands that members had before routers: the first major release whose routers have them. */
const routerCommandsSince: ReadonlyMap<string, number> = new Map([['appendOplogNote', 6]]);

/** Commands that change the config server's data, and fail without it. */
const needsConfigServer: ReadonlySet<string> = new Set([
  'create',
  'drop',
  'dropDatabase',
  'renameCollection',
  'enableSharding',
  'movePrimary',
  'shardCollection',
  'refineCollectionShardKey',
  'split',
  'mergeChunks',
  'clearJumboFlag',
  'moveChunk',
  'addShard',
  'removeShard',
  'addShardToZone',
  'removeShardFromZone',
  'updateZoneKeyRange',
  'balancerStart',
  'balancerStop',
  'transitionFromDedicatedConfigServer',
]);

/** A mongos: answers clients, and asks the shards. */
export class Router implements ServedNode {
  readonly diagnostics: Diagnostics;
  readonly #commands: ReadonlyMap<string, Command>;

  constructor(
    readonly identity: NodeIdentity,
    private readonly context: RouterContext,
    balancer: Balancer,
    migration: Migration,
    available: AvailableShards,
  ) {
    this.diagnostics = new Diagnostics(identity, () => context.clock.current());
    this.diagnostics.addAnswers([['setUserWriteBlockMode', (request) => this.#blockUserWrites(request)]]);
    this.#commands = new Map([
      ...dataCommands,
      ...ddlCommands,
      ...sessionCommands,
      ...shardingCommands(balancer, migration, available),
    ]);
  }

  async #blockUserWrites(request: CommandRequest): Promise<Doc> {
    const { writeBlock } = this.identity.deployment;
    await writeBlock.set(request, false);
    await this.context.catalog.noteWriteBlock(writeBlock.note(true));
    return new Map();
  }

  /** Names of the commands that it has. */
  get commandNames(): string[] {
    const { version } = this.context;
    const own = [...this.#commands.keys()].filter((name) => version.atLeast(routerCommandsSince.get(name) ?? 0));
    return [...this.diagnostics.commandNames, ...own];
  }

  async run(request: CommandRequest): Promise<Doc> {
    countCommand(this.identity, request);
    return this.diagnostics.gate.run(request, async () => {
      const { release } = this.context;
      const known = hasCommand(release.features, request.name);
      if (known) refuseForeignFields(release, request);
      const answer = known ? this.diagnostics.answer(request) : undefined;
      if (answer !== undefined) return answer;
      const command = known ? this.#commands.get(request.name) : undefined;
      if (shardedDefinitions.has(request.name))
        this.context.deployment.writeBlock.refuseClient(request.connection, definedDatabase(request));
      if (command === undefined) throw new CommandError(59, 'CommandNotFound', `no such cmd: ${request.name}`);
      if (needsConfigServer.has(request.name)) await this.context.configShard.node.ready(request.signal);
      const isStatement = request.body.get('autocommit') === false && !endsTransaction.has(request.name);
      const alone = (): Promise<Doc> => this.#inTurn(request, async () => command(this.context, request));
      const run = isStatement ? () => runStatement(this.context, request, alone) : alone;
      return request.body.has('collectionUUID') ? withActualCollection(this.context, run) : run();
    });
  }

  #inTurn(request: CommandRequest, change: () => Promise<Doc>): Promise<Doc> {
    if (!lockedDefinitions.has(request.name) && !renamesOutput(request)) return change();
    return this.context.deployment.definitionLocks.run(definedDatabase(request), change);
  }

  addReplyFields(reply: Doc, _request: CommandRequest, outcome: CommandOutcome): void {
    nameCodes(this.context.version, reply);
    if (outcome === 'refusedReadConcern') return;
    const time = this.context.clock.current();
    reply.set('$clusterTime', clusterTimeField(time));
    reply.set('operationTime', time);
    for (const last of ['recoveryToken', 'errorLabels']) {
      const value = reply.get(last);
      if (value === undefined || (last === 'errorLabels' && reply.keys().next().value === last)) continue;
      reply.delete(last);
      reply.set(last, value);
    }
  }
}
