import { Double, Int32, Long, type Timestamp } from 'bson';
import { DateTime, type Doc, type Value } from '../bson/value.js';
import type { CommandRequest } from '../node/command.js';
import { doc, numberOf } from '../node/doc-fields.js';
import { shownDefaults } from './default-commands.js';
import { helloReply } from './hello.js';
import type { NodeIdentity } from './node-identity.js';
import { diagnosticHost } from './platform.js';

const counterNames = ['insert', 'query', 'update', 'delete', 'getmore', 'command'];
const bytesPerMegabyte = 1024 * 1024;
/** The part of a node in its cluster, as 8.0 names it. */
const serviceOf = { router: 'router', shard: 'shard', config: 'config', replicaSet: 'shard' } as const;
const writeBlockOff = 1;
const writeBlockOn = 2;

const counterOfCommand: ReadonlyMap<string, string> = new Map([
  ['insert', 'insert'],
  ['find', 'query'],
  ['update', 'update'],
  ['delete', 'delete'],
  ['getMore', 'getmore'],
]);

/** Counts a command for `opcounters`: bulk writes by statement, everything else as one. */
export function countOperation(identity: NodeIdentity, request: CommandRequest): void {
  const name = counterOfCommand.get(request.name) ?? 'command';
  let statements = 1;
  for (const sequence of request.sequences.values()) statements = sequence.length;
  identity.counters.set(name, (identity.counters.get(name) ?? 0) + statements);
}

/** `serverStatus`; sections that the command sets to 0 are left out. */
export async function serverStatus(
  identity: NodeIdentity,
  request: CommandRequest,
  lastApplied: () => Timestamp,
): Promise<Doc> {
  const uptimeMs = Date.now() - identity.startedMs;
  const seconds = Math.floor(uptimeMs / 1000);
  const is80 = identity.version.atLeast(8, 0);
  const status = doc(
    ['host', diagnosticHost(identity)],
    ['version', identity.version.text],
    ['process', identity.processName],
    ...(is80 ? [field('service', [serviceOf[identity.kind]])] : []),
    ['pid', Long.fromInt(process.pid)],
    ['uptime', new Double(seconds)],
    ['uptimeMillis', Long.fromNumber(uptimeMs)],
    ['uptimeEstimate', Long.fromNumber(seconds)],
    ['localTime', new DateTime(BigInt(Date.now()))],
    ['asserts', zeros(['regular', 'warning', 'msg', 'user', 'tripwire', 'rollovers'])],
    ['connections', connections(request, is80)],
    ...(identity.kind === 'router' ? [['defaultRWConcern', shownDefaults(identity)] as [string, Doc]] : []),
    [
      'mem',
      doc(['bits', new Int32(64)], ['resident', new Int32(Math.floor(process.memoryUsage.rss() / bytesPerMegabyte))]),
    ],
    ['opcounters', new Map(counterNames.map((name) => [name, Long.fromNumber(identity.counters.get(name) ?? 0)]))],
  );
  if (identity.kind !== 'router') status.set('repl', await replicaSetSection(identity, request, lastApplied));
  if (identity.configServer !== undefined)
    status.set('sharding', shardingSection(identity, identity.configServer, lastApplied()));
  if (identity.kind !== 'router') status.set('storageEngine', new Map(storageEngineOf(identity)));
  status.set('trafficRecording', doc(['running', false]));
  for (const [section, wanted] of request.body) if (numberOf(wanted) === 0 || wanted === false) status.delete(section);
  return status;
}

/** This connection is the only one counted as open. */
function connections(request: CommandRequest, is80: boolean): Doc {
  return doc(
    ['current', new Int32(1)],
    ['available', new Int32(15_999)],
    ['totalCreated', new Int32(request.connection.id)],
    ...(is80 ? zeros(['rejected']) : []),
    ['active', new Int32(1)],
    ['threaded', new Int32(1)],
    ...zeros(['exhaustIsMaster', 'exhaustHello', 'awaitingTopologyChanges', ...(is80 ? ['loadBalanced'] : [])]),
  );
}

async function replicaSetSection(
  identity: NodeIdentity,
  request: CommandRequest,
  lastApplied: () => Timestamp,
): Promise<Doc> {
  const hello = await helloReply(identity, { ...request, name: 'hello', body: new Map() }, lastApplied);
  const shown = [
    'topologyVersion',
    'hosts',
    'setName',
    'setVersion',
    'isWritablePrimary',
    'secondary',
    'primary',
    'me',
    'electionId',
    'lastWrite',
    'isImplicitDefaultMajorityWC',
  ];
  const section: Doc = new Map(
    shown.flatMap((name): [string, Value][] => (hello.has(name) ? [[name, hello.get(name) ?? null]] : [])),
  );
  section.set('rbid', new Int32(1));
  if (identity.version.atLeast(6, 0))
    section.set('userWriteBlockMode', new Int32(identity.deployment.writeBlock.enabled ? writeBlockOn : writeBlockOff));
  const reason = identity.deployment.writeBlock.reasonNumber;
  // 8.0 stands for 8.0.10 here, which knows no reasons: only given ones are shown, as of 8.0.13.
  if (reason !== undefined && reason > 0) section.set('userWriteBlockReason', new Int32(reason));
  return section;
}

function shardingSection(identity: NodeIdentity, configServer: string, lastSeen: Timestamp): Doc {
  const is80 = identity.version.atLeast(8, 0);
  const seen = doc(['ts', lastSeen], ['t', Long.fromInt(-1)]);
  return doc(
    ...(is80 ? [field('routerServiceEnabled', true)] : []),
    ['configsvrConnectionString', configServer],
    ['lastSeenConfigServerOpTime', seen],
    ...(is80 ? [field('lastSeenTopologyOpTime', seen)] : []),
    ['maxChunkSizeInBytes', Long.fromNumber(identity.version.chunkBytesMax)],
  );
}

const storageEngine: readonly [string, Value][] = [
  ['name', 'wiredTiger'],
  ['supportsCommittedReads', true],
  ['supportsPendingDrops', true],
  ['supportsSnapshotReadConcern', true],
  ['readOnly', false],
  ['persistent', true],
  ['backupCursorOpen', false],
  ['supportsResumableIndexBuilds', true],
];

function storageEngineOf({ version }: NodeIdentity): readonly [string, Value][] {
  return storageEngine.filter(([name]) => name !== 'supportsResumableIndexBuilds' || !version.atLeast(8, 0));
}

function field(name: string, value: Value): [string, Value] {
  return [name, value];
}

function zeros(names: readonly string[]): Doc {
  return new Map(names.map((name) => [name, new Int32(0)]));
}
