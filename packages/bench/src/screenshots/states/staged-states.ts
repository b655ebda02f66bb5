import type { CommitBlocker } from '@convoy/api/contract/commit-blocker';
import type { CurrentStep } from '@convoy/api/contract/current-step';
import type { HotDocument } from '@convoy/api/contract/hot-documents';
import { idleProgress, type MigrationState, type Progress } from '@convoy/api/contract/progress';
import type { Failure, InstanceReport } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import type { Waiting } from '@convoy/api/contract/waiting';
import { stagedReport } from '../../staged-report.js';

/** One state of a fleet, as its instances report it. */
export interface StagedState {
  /** For the picture's file. */
  readonly name: string;
  readonly reports: readonly InstanceReport[];
  /** A sharded cluster unless given. */
  readonly source?: 'replicaSet';
  /** What else the page meets. */
  readonly meets?: 'silence' | 'lostService' | 'viewToken' | 'noToken';
  /** The button to press before the picture is taken. */
  readonly presses?: string;
  /** Ids of instances without heartbeats. */
  readonly silent?: readonly string[];
}

const gigabyte = 1e9;
const shards = ['shard0', 'shard1', 'shard2'];
/** The size of `npm run bench -- scale`. */
const manyIds = Array.from({ length: 256 }, (_, at) => `rs-shard-${String(at).padStart(3, '0')}`);
const documents = 449_018;
/** Of each instance. */
const totalBytes = 64 * gigabyte;

interface Stage {
  readonly state: MigrationState;
  readonly info: string;
  /** Copied part, from 0 to 1. */
  readonly copied: number;
  readonly lag_seconds: number | null;
  readonly isReady?: boolean;
  readonly blocked?: (instance: string) => CommitBlocker[];
  readonly failure?: Failure;
  /** Changes on the source in the last seconds, of each instance. */
  readonly writes?: number;
  readonly waitingFor?: Waiting[];
  readonly isCleanedUp?: boolean;
}

const begun = { copied: 1, lag_seconds: 2 };
const applying = { ...begun, state: 'RUNNING' as const, info: 'change event application' };

const lagging = (instance: string): CommitBlocker[] => [
  { instance, reason: 'verifierLag', value: 111, limit: 30, description: 'the verifier is 111 s behind (limit 30 s)' },
];

const copyingStill = (instance: string): CommitBlocker => ({
  instance,
  reason: 'copying',
  value: null,
  limit: null,
  description: 'collections are still being copied',
});

/** Every state that the dashboard shows. */
export function stagedStates(): readonly StagedState[] {
  const idle = shards.map((id) => idleReport(identity(id)));
  const ready = fleetIn({ ...applying, isReady: true });
  const copying = fleetIn({ state: 'RUNNING', info: 'collection copy', copied: 0.42, lag_seconds: 4, writes: 3_460 });
  const preparing: Stage = { state: 'RUNNING', info: 'initializing', copied: 0, lag_seconds: null };
  return [
    { name: 'connecting', reports: [], meets: 'silence' },
    { name: 'no-instance', reports: [] },
    { name: 'initializing', reports: shards.map((id) => idleReport(identity(id), { state: 'INITIALIZING' })) },
    { name: 'initializing-unreachable', reports: shards.map((id) => idleReport(identity(id), unreachable)) },
    { name: 'idle', reports: idle },
    { name: 'idle-picking', reports: idle, presses: '#start [data-field="picked"]' },
    { name: 'idle-shard-keys', reports: idle.slice(0, 1), source: 'replicaSet' },
    { name: 'preparing', reports: fleetIn(preparing) },
    { name: 'start-waits', reports: fleetIn({ ...preparing, waitingFor: [startWaits] }).slice(0, -1) },
    { name: 'copying', reports: copying },
    {
      name: 'copying-256',
      reports: manyIds.map((id, at) => stagedReport({ identity: identity(id), ids: manyIds, at }, 300 + at)),
      silent: ['rs-shard-077', 'rs-shard-200'],
    },
    { name: 'copying-silent-instance', reports: copying, silent: ['shard1'] },
    { name: 'applying-blocked', reports: fleetIn({ ...applying, lag_seconds: 45, blocked: lagging }) },
    { name: 'ready', reports: ready },
    {
      name: 'ready-confirming',
      reports: fleetIn({ ...applying, isReady: true, writes: 42 }),
      presses: '#do-commit',
    },
    { name: 'paused', reports: fleetIn({ ...begun, state: 'PAUSED', info: 'paused', copied: 0.6, lag_seconds: null }) },
    { name: 'committing', reports: fleetIn({ ...begun, state: 'COMMITTING', info: 'waiting for commit to complete' }) },
    { name: 'committed', reports: fleetIn({ ...begun, state: 'COMMITTED', info: 'commit completed', lag_seconds: 0 }) },
    {
      name: 'committed-cleaned-up',
      reports: fleetIn({
        ...begun,
        state: 'COMMITTED',
        info: 'commit completed',
        lag_seconds: 0,
        isCleanedUp: true,
      }),
    },
    { name: 'reversing', reports: fleetIn({ ...begun, state: 'REVERSING', info: 'reversing' }) },
    { name: 'failed', reports: fleetIn({ ...applying, failure: historyLost }) },
    { name: 'stale', reports: copying, meets: 'lostService' },
    { name: 'read-only', reports: ready, meets: 'viewToken' },
    { name: 'asks-for-token', reports: [], meets: 'noToken' },
  ];
}

/** As an instance reports that waits for a cluster. */
const unreachable: Pick<InstanceReport, 'state' | 'progress'> = {
  state: 'INITIALIZING',
  progress: {
    ...idleProgress(),
    state: 'INITIALIZING',
    info: 'initializing',
    warnings: [
      {
        name: 'waitingForCluster',
        description:
          'The destination cluster1 cannot be reached: destination.example:27017: the connection was refused ' +
          '(ECONNREFUSED). Check that the server runs and listens there. The instance tries again.',
      },
    ],
  },
};

const startWaits: Waiting = {
  instance: 'shard2',
  command: 'start',
  description: 'it has not taken the recorded start',
};

const historyLost: Failure = {
  error: 'oplogHistoryLost',
  errorDescription: 'The oplog of shard0 no longer has changes that are still to be applied. Make it larger.',
};

function identity(id: string): InstanceReport['identity'] {
  return { id, syncID: id, incarnation: `${id}-1`, release: '2.0.0' };
}

function fleetIn(stage: Stage): InstanceReport[] {
  return shards.map((id, at) => reportOf(id, at, stage));
}

function reportOf(id: string, at: number, stage: Stage): InstanceReport {
  const { state, copied, isReady = false, failure = null } = stage;
  const isWorking = state === 'RUNNING' && failure === null;
  const partitions = { waiting: 40, starting: 0, copying: 4, done: 31 };
  return idleReport(identity(id), {
    state,
    failure,
    step: 'syncing',
    expectedIds: shards,
    ready: { canCommit: isReady, canWrite: state === 'COMMITTED' },
    rates: {
      copyBytesPerSecond: isWorking && copied < 1 && copied > 0 ? 48e6 + at * 3e6 : 0,
      eventsPerSecond: isWorking && copied > 0 ? 340 + at * 21 : 0,
    },
    progress: progressOf(id, stage),
    stats: {
      sourceShards: [id],
      destinationShards: ['shard0', 'shard1', 'shard2', 'shard3'],
      copiedDocuments: Math.round((copied * documents) / shards.length),
      partitions: copied === 1 ? { waiting: 0, starting: 0, copying: 0, done: 75 } : partitions,
      bufferedEvents: 12,
      pendingRereads: 0,
      bufferedBytes: 3e6,
      bufferBytesMax: 134e6,
    },
  });
}

function progressOf(id: string, stage: Stage): Progress {
  const {
    state,
    info,
    copied,
    lag_seconds,
    isReady,
    blocked,
    writes = 0,
    waitingFor = [],
    isCleanedUp = false,
  } = stage;
  const estimatedTotalBytes = totalBytes * shards.length;
  const isCopied = copied === 1;
  const hashed = Math.round(documents / shards.length);
  const side = {
    estimatedDocumentCount: hashed,
    hashedDocumentCount: isCopied ? hashed : 0,
    lagTimeSeconds: isReady === true ? 1 : 111,
    phase: isCopied ? ('stream hashing' as const) : ('not started' as const),
    scannedCollectionCount: isCopied ? 71 : 0,
    totalCollectionCount: 71,
  };
  return {
    ...idleProgress(),
    state,
    canCommit: isReady === true,
    canWrite: state === 'COMMITTED',
    info,
    lagTimeSeconds: lag_seconds,
    totalEventsApplied: copied === 0 ? 0 : 171_075,
    collectionCopy:
      copied === 0
        ? { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 }
        : { estimatedTotalBytes, estimatedCopiedBytes: Math.round(copied * totalBytes) },
    directionMapping: { Source: 'cluster0: source.example:27017', Destination: 'cluster1: destination.example:27017' },
    syncID: id,
    coordinatorID: 'shard0',
    verification: { source: side, destination: side },
    indexBuilding: {
      indexesBuilt: isCopied ? 612 : 580,
      totalIndexesToBuild: 612,
      collectionsFinished: isCopied ? 214 : 201,
      collectionsTotal: 214,
    },
    source: { pingLatencyMs: 0.6 },
    destination: { pingLatencyMs: 0.9 },
    estimatedOplogTimeRemaining: '14 hours',
    warnings: [],
    currentStep: stagedSteps[state] ?? null,
    commitBlockers: blocked?.(id) ?? (isCopied ? null : [copyingStill(id)]),
    sourceWrites:
      copied === 0 || state !== 'RUNNING'
        ? null
        : { windowSeconds: 10, writes, namespaces: namespacesOf(writes), lastWriteAt: null },
    hotDocuments: id === 'shard0' && isCopied && state === 'RUNNING' ? [stagedHotDocument] : [],
    startedAt: new Date(Date.now() - 2 * 3_600_000).toISOString(),
    options: stagedOptions,
    metadataRemoved: state === 'COMMITTED' ? isCleanedUp : null,
    waitingFor,
  };
}

const stagedSteps: Partial<Record<MigrationState, CurrentStep>> = {
  COMMITTING: {
    name: 'verify',
    number: 4,
    count: 9,
    description: 'Instances compare the last changes of both clusters: 2 of 3 are done.',
    since: new Date(Date.now() - 12_000).toISOString(),
  },
  REVERSING: {
    name: 'prepareDestination',
    number: 3,
    count: 3,
    description: 'The leader closes the former source to users, stops the balancers, and defers its unique indexes.',
    since: new Date(Date.now() - 2_000).toISOString(),
  },
};

const stagedHotDocument: HotDocument = {
  namespace: 'shop.counters',
  document: '3f62a09b11c4',
  changesPerSecond: 1_840,
  workerPercent: 62,
  appliedBy: 'folding',
};

function namespacesOf(writes: number): { namespace: string; writes: number }[] {
  if (writes === 0) return [];
  const most = Math.ceil(writes * 0.8);
  return [
    { namespace: 'shop.orders', writes: most },
    { namespace: 'billing.invoices', writes: writes - most },
  ];
}

/** As recorded at a start from the form. */
const stagedOptions = {
  source: 'cluster0',
  destination: 'cluster1',
  includeNamespaces: [{ database: 'shop' }, { database: 'billing', collections: ['invoices', 'payments'] }],
  excludeNamespaces: [],
  buildIndexes: 'beforeDataCopy',
  enableUserWriteBlocking: true,
  reversible: false,
  verification: { enabled: true },
};
