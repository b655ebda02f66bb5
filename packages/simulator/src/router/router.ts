import { Binary } from 'bson';
import type { Doc } from '../bson/value.js';
import { clusterTimeField } from '../every-node/cluster-time.js';
import { NodeCommands } from '../every-node/node-commands.js';
import type { NodeIdentity } from '../every-node/node-identity.js';
import { countOperation } from '../every-node/server-status.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { docOf, numberOf, textOrEmpty } from '../node/doc-fields.js';
import { databaseOf } from '../node/namespace.js';
import { hasCommand, nameCodes, refuseForeignFields } from '../node/release-rules.js';
import type { CommandOutcome, ServedNode } from '../wire/served-node.js';
import { type Command, routerCommands } from './command-table.js';
import type { RouterContext } from './router-context.js';
import type { Balancer } from './sharding/balancer.js';
import type { Migration } from './sharding/chunk-migration.js';
import type { AvailableShards } from './sharding/shard-commands.js';
import { runStatement } from './transaction-commands.js';

/** A mongos: answers clients, and asks the shards. */
export class Router implements ServedNode {
  readonly nodeCommands: NodeCommands;
  readonly #commands: ReadonlyMap<string, Command>;

  constructor(
    readonly identity: NodeIdentity,
    private readonly context: RouterContext,
    balancer: Balancer,
    migration: Migration,
    available: AvailableShards,
  ) {
    this.nodeCommands = new NodeCommands(identity, () => context.clock.current());
    this.nodeCommands.addAnswers([['setUserWriteBlockMode', (request) => this.#blockUserWrites(request)]]);
    this.#commands = routerCommands(balancer, migration, available);
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
    return [...this.nodeCommands.commandNames, ...own];
  }

  async run(request: CommandRequest): Promise<Doc> {
    countOperation(this.identity, request);
    return this.nodeCommands.gate.run(request, async () => {
      const { release } = this.context;
      const known = hasCommand(release.features, request.name);
      if (known) refuseForeignFields(release, request);
      const answer = known ? this.nodeCommands.answer(request) : undefined;
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

const uuidMismatch = 361;

/** A shard knows only its own collections. The router asks the others which one has the UUID of the command. */
async function withActualCollection(context: RouterContext, run: () => Promise<Doc>): Promise<Doc> {
  try {
    const reply = await run();
    const errors = reply.get('writeErrors');
    for (const error of Array.isArray(errors) ? errors : []) {
      const fields = docOf(error);
      if (fields !== undefined && numberOf(fields.get('code')) === uuidMismatch) fill(context, fields);
    }
    return reply;
  } catch (error) {
    if (error instanceof CommandError && error.code === uuidMismatch) fill(context, error.extra);
    throw error;
  }
}

function fill({ catalog }: RouterContext, fields: Doc): void {
  const meant = fields.get('collectionUUID');
  if (!(meant instanceof Binary) || fields.get('actualCollection') !== null) return;
  const db = textOrEmpty(fields.get('db'));
  const all = catalog.shards.flatMap(({ access }) => access.collectionsOf(db));
  const actual = all.find(({ uuid }) => uuid.toString('hex') === meant.toString('hex'));
  if (actual !== undefined) fields.set('actualCollection', actual.namespace.slice(db.length + 1));
}
