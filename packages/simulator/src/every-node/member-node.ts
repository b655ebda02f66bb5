import { Long, Timestamp } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { type CommandNode, type CommandRequest, type ConnectionState, CommandError } from '../node/command.js';
import { doc, docOf } from '../node/doc-fields.js';
import { hasCommand, nameCodes, refuseForeignFields } from '../node/release-rules.js';
import { dataCommandNames } from '../shard/commands/command-table.js';
import type { CommandOutcome, ServedNode } from '../wire/served-node.js';
import { clusterTimeField } from './cluster-time.js';
import { opTime } from './hello.js';
import { NodeCommands } from './node-commands.js';
import type { NodeIdentity } from './node-identity.js';
import { countOperation } from './server-status.js';

/** Commands after which a connection's last write is the end of the oplog, even if they failed or changed nothing. */
const writingCommands: ReadonlySet<string> = new Set([
  'insert',
  'update',
  'delete',
  'findAndModify',
  'create',
  'createIndexes',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'collMod',
  'renameCollection',
  'convertToCapped',
  'commitTransaction',
  'abortTransaction',
  'applyOps',
  'appendOplogNote',
  'cleanupOrphaned',
]);

/** Commands that the cluster around a member answers for it. */
const clusterCommandNames = ['cleanupOrphaned', 'flushRouterConfig'];

/** A data-bearing node behind a port: it answers about itself, everything else goes to the data. */
export class MemberNode implements ServedNode {
  readonly nodeCommands: NodeCommands;
  /** Time of the last write of each connection, for `$gleStats`. */
  readonly #lastWrites = new WeakMap<ConnectionState, Value>();

  constructor(
    readonly identity: NodeIdentity,
    private readonly data: CommandNode,
    private readonly lastApplied: () => Timestamp,
    private readonly clock: ClusterClock,
    /** Commands that the cluster around the node answers for it. Undefined for all others. */
    private readonly clusterAnswer: (request: CommandRequest) => Promise<Doc> | undefined = () => undefined,
  ) {
    this.nodeCommands = new NodeCommands(identity, lastApplied);
  }

  /** Names of the commands that it has in some release. */
  get commandNames(): string[] {
    return [...this.nodeCommands.commandNames, ...dataCommandNames, ...clusterCommandNames];
  }

  async run(request: CommandRequest): Promise<Doc> {
    countOperation(this.identity, request);
    return this.nodeCommands.gate.run(request, async () => {
      const answer = this.#ownAnswer(request) ?? this.#dataAnswer(request);
      try {
        return await answer;
      } finally {
        if (writingCommands.has(request.name)) this.#lastWrites.set(request.connection, opTime(this.lastApplied()));
      }
    });
  }

  /** Answers about the node and its place in the cluster. Undefined for everything that the data answers. */
  #ownAnswer(request: CommandRequest): Doc | Promise<Doc> | undefined {
    if (!hasCommand(this.identity.release.features, request.name)) return undefined;
    refuseForeignFields(this.identity.release, request);
    return this.nodeCommands.answer(request) ?? this.clusterAnswer(request);
  }

  #dataAnswer(request: CommandRequest): Promise<Doc> {
    refuseBySecondary(this.identity, request);
    return this.data.run(request);
  }

  addReplyFields(reply: Doc, request: CommandRequest, outcome: CommandOutcome): void {
    nameCodes(this.identity.version, reply);
    const applied = this.lastApplied();
    if (this.identity.kind !== 'replicaSet' && !this.identity.version.atLeast(8))
      this.#addShardingFields(reply, request, outcome, applied);
    reply.set('$clusterTime', clusterTimeField(this.clock.current()));
    reply.set('operationTime', applied);
  }

  /** What 5.0.7 shows every client; 8.0.10 keeps it for nodes of its cluster. */
  #addShardingFields(reply: Doc, request: CommandRequest, outcome: CommandOutcome, applied: Timestamp): void {
    const understood = outcome !== 'unread';
    if (understood) {
      const lastWrite = this.#lastWrites.get(request.connection) ?? new Timestamp({ t: 0, i: 0 });
      reply.set('$gleStats', doc(['lastOpTime', lastWrite], ['electionId', this.identity.role.electionId]));
    }
    reply.set('lastCommittedOpTime', applied);
    if (understood)
      reply.set('$configServerState', doc(['opTime', doc(['ts', this.clock.current()], ['t', Long.fromInt(-1)])]));
  }
}

/** Commands that a secondary answers with any read preference. */
const secondaryAlways: ReadonlySet<string> = new Set([
  'getMore',
  'killCursors',
  'startSession',
  'refreshSessions',
  'endSessions',
  'killSessions',
  'killAllSessions',
  '_hashBSONElement',
]);
/** Commands that a secondary answers when the client allows it. */
const secondaryReads: ReadonlySet<string> = new Set([
  'find',
  'aggregate',
  'count',
  'distinct',
  'listCollections',
  'listIndexes',
  'listDatabases',
  'collStats',
  'dbStats',
  'dataSize',
  'validate',
  'splitVector',
]);

/**
 * Refuses what only a primary does.
 * @throws CommandError 10107 for writes, 13435 for reads that want the primary
 */
function refuseBySecondary(identity: NodeIdentity, request: CommandRequest): void {
  const { name, body } = request;
  if (identity.role.primary || secondaryAlways.has(name)) return;
  const word = identity.version.atLeast(5) ? 'primary' : 'master';
  if (!secondaryReads.has(name) || body.has('txnNumber'))
    throw new CommandError(10107, 'NotWritablePrimary', `not ${word}`);
  const mode = docOf(body.get('$readPreference'))?.get('mode') ?? 'primary';
  if (mode !== 'primary') return;
  const option = identity.version.atLeast(5) ? 'secondaryOk' : 'slaveOk';
  throw new CommandError(13435, 'NotPrimaryNoSecondaryOk', `not ${word} and ${option}=false`);
}
