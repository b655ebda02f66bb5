import { hostname } from 'node:os';
import { Int32, ObjectId, type Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import { FailPoints } from '../faults/fail-points.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, textOrEmpty } from '../node/doc-fields.js';
import { refuseUnknownFields } from '../shard/commands/command-context.js';
import { CommandGate } from './command-gate.js';
import { clusterParameter, defaultConcerns, setClusterParameter, setDefaultConcerns } from './default-commands.js';
import { setFeatureCompatibilityVersion, wantedSeries } from './feature-compatibility.js';
import { helloReply } from './hello.js';
import type { NodeIdentity } from './node-identity.js';
import { buildInfo, hostInfo } from './platform.js';
import { replicaSetConfig, replicaSetStatus } from './replica-set-status.js';
import { ServerParameters } from './server-parameters.js';
import { serverStatus } from './server-status.js';

type Answer = (request: CommandRequest) => Doc | Promise<Doc>;

/** Commands about the node itself, which every kind of node answers in its own way. */
export class NodeCommands {
  readonly failPoints: FailPoints;
  readonly gate: CommandGate;
  readonly parameters: ServerParameters;
  readonly #replicaSetId = new ObjectId();
  readonly #answers: Map<string, Answer>;

  constructor(
    private readonly identity: NodeIdentity,
    private readonly lastApplied: () => Timestamp,
  ) {
    this.failPoints = new FailPoints(identity.kind);
    this.gate = new CommandGate(identity, this.failPoints);
    this.parameters = new ServerParameters(identity);
    const hello: Answer = (request) => helloReply(identity, request, lastApplied);
    this.#answers = new Map<string, Answer>([
      ['hello', hello],
      ['isMaster', hello],
      ['ismaster', hello],
      ['ping', () => new Map()],
      ['buildInfo', () => buildInfo(identity)],
      ['hostInfo', () => hostInfo(identity)],
      ['serverStatus', (request) => serverStatus(identity, request, lastApplied)],
      ['getParameter', (request) => this.parameters.get(request.body)],
      ['setParameter', (request) => this.parameters.set(request.body)],
      ['setFeatureCompatibilityVersion', (request) => setFeatureCompatibilityVersion(identity, request)],
      ['setUserWriteBlockMode', (request) => setUserWriteBlockMode(identity, request)],
      ['setDefaultRWConcern', (request) => setDefaultConcerns(identity, request)],
      ['getDefaultRWConcern', (request) => defaultConcerns(identity, request)],
      ['setClusterParameter', (request) => setClusterParameter(identity, request)],
      ['getClusterParameter', (request) => clusterParameter(identity, request)],
      ['getCmdLineOpts', () => commandLine(identity)],
      ['whatsmyuri', (request) => doc(['you', request.connection.remoteAddress])],
      ['getLog', (request) => logLines(request)],
      ...(identity.kind === 'router' ? this.#routerAnswers() : this.#memberAnswers()),
    ]);
  }

  /** Adds commands, or replaces those of the same name. */
  addAnswers(answers: Iterable<[string, Answer]>): void {
    for (const [name, answer] of answers) this.#answers.set(name, answer);
  }

  /** Names of the commands. */
  get commandNames(): string[] {
    return [...this.#answers.keys(), 'configureFailPoint'];
  }

  /** The answer, or undefined when the command is not one of these. */
  answer(request: CommandRequest): Doc | Promise<Doc> | undefined {
    this.#refuseFields(request);
    return this.failPoints.answer(request) ?? this.#answers.get(request.name)?.(request);
  }

  /**
   * Refuses what a router of 5.0.7 refuses before it looks at privileges, and what any node of 8.0.10 does.
   * @throws CommandError
   */
  refuseToAnyone(request: CommandRequest): void {
    this.#refuseFields(request);
    if (this.identity.kind !== 'router') return;
    if (request.name === 'replSetGetStatus') throw notThroughRouters(request.name);
    if (request.name === 'setFeatureCompatibilityVersion') wantedSeries(this.identity, request);
  }

  #refuseFields(request: CommandRequest): void {
    if (this.identity.version.atLeast(8, 0) && withoutFields.has(request.name))
      refuseUnknownFields({ request }, new Set());
  }

  #routerAnswers(): [string, Answer][] {
    return [
      ['isdbgrid', () => doc(['isdbgrid', new Int32(1)], ['hostname', hostname()])],
      [
        'replSetGetStatus',
        () => {
          throw notThroughRouters('replSetGetStatus');
        },
      ],
    ];
  }

  #memberAnswers(): [string, Answer][] {
    return [
      ['replSetGetStatus', () => replicaSetStatus(this.identity, this.lastApplied())],
      ['replSetGetConfig', () => replicaSetConfig(this.identity, this.#replicaSetId)],
      ['shardingState', () => doc(['enabled', false])],
    ];
  }
}

/** Commands about the node, without fields of their own, whose unknown fields 8.0.10 refuses. */
const withoutFields: ReadonlySet<string> = new Set(['getCmdLineOpts', 'hostInfo', 'ping']);

function notThroughRouters(name: string): CommandError {
  return new CommandError(0, '', `${name} is not supported through mongos`, [], doc(['info', 'mongos']));
}

/** Members of a sharded cluster leave the switch to their routers. */
async function setUserWriteBlockMode(identity: NodeIdentity, request: CommandRequest): Promise<Doc> {
  if (identity.kind === 'shard' || identity.kind === 'config') {
    throw new CommandError(20, 'IllegalOperation', 'setUserWriteBlockMode cannot be run on shardsvrs nor configsvrs');
  }
  const { writeBlock } = identity.deployment;
  await writeBlock.set(request, identity.kind === 'replicaSet');
  await writeBlock.keep(writeBlock.note(false));
  return new Map();
}

function commandLine(identity: NodeIdentity): Doc {
  const net = doc(['bindIp', identity.address], ['port', new Int32(identity.port)]);
  const parsed = doc(['net', net]);
  const argv = ['--port', String(identity.port), '--bind_ip', identity.address];
  if (identity.kind === 'router') {
    parsed.set('sharding', doc(['configDB', identity.configServer ?? '']));
    return doc(
      ['argv', [identity.processName, '--configdb', identity.configServer ?? '', ...argv]],
      ['parsed', parsed],
    );
  }
  parsed.set('replication', doc(['replSet', identity.setName]));
  const roles = identity.kind === 'replicaSet' ? [] : [identity.kind === 'config' ? '--configsvr' : '--shardsvr'];
  if (roles.length > 0)
    parsed.set('sharding', doc(['clusterRole', identity.kind === 'config' ? 'configsvr' : 'shardsvr']));
  return doc(['argv', [identity.processName, ...roles, '--replSet', identity.setName, ...argv]], ['parsed', parsed]);
}

const logs = ['global', 'startupWarnings'];

function logLines(request: CommandRequest): Doc {
  const asked = textOrEmpty(request.body.get('getLog'));
  if (asked === '*') return doc(['names', logs]);
  if (!logs.includes(asked)) throw new CommandError(0, '', `no RamLog named: ${asked}`);
  return doc(['totalLinesWritten', new Int32(0)], ['log', []]);
}
