import { setTimeout as delay } from 'node:timers/promises';
import { type BenchmarkContext, median, type Row, rowMaker, withGoal } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { type BenchCollection, benchNamespace } from '../copy/bench-documents.js';
import { runMeasured } from '../measured-process.js';
import { clusterSyncName } from './cluster-sync.js';
import { settle_ms } from './cost.js';
import { type ToolKind, untilSeen } from './migration-tool.js';
import type { UsersOrder, UsersResult } from './users-order.js';

const usersScript = new URL('./users-process.js', import.meta.url);
const limit_ms = 120_000;
/** The copy takes longer than the users are watched. */
const bytes = 600_000_000;
const documentBytes = 1_000;
const watch_seconds = 6;
/** Two busy cores still serve this rate. */
const operationsPerSecond = 400;
const users = 16;
const rounds = 2;

/** Latency and rate of users of the source: alone, during a tool's copy, and while it applies their changes. */
export async function measureUsers(tools: readonly ToolKind[], context: BenchmarkContext): Promise<Row[]> {
  const { folder, log, scale, signal } = context;
  await using clusters = await BenchClusters.start(folder, 'replicaSet');
  const documents = Math.max(1_000, Math.round((bytes * scale) / documentBytes));
  const collection: BenchCollection = { ...benchNamespace, documentBytes, documents, text: 'varied' };
  log(`users: loading ${documents} documents`);
  await clusters.load('source', collection);
  await delay(settle_ms, undefined, { signal });
  const watch = usersOf(clusters, collection, context);
  await watch();
  const copying: UsersCompared = new Map([nobodyName, ...tools.map(({ name }) => name)].map((name) => [name, []]));
  const applying: UsersCompared = new Map(tools.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    log(`users: round ${round} of ${rounds}, alone`);
    copying.get(nobodyName)?.push(await watch());
    for (const kind of tools) {
      signal.throwIfAborted();
      log(`users: round ${round} of ${rounds}, ${kind.name}`);
      await clusters.emptyDestination();
      await using tool = await kind.open(clusters, folder);
      await delay(settle_ms, undefined, { signal });
      await tool.start();
      await untilSeen(tool, ({ started }) => started, signal);
      copying.get(kind.name)?.push(await watch());
      if ((await tool.progress()).copied) log(`${kind.name} had copied before the users ended: the row is too good.`);
      await untilSeen(tool, ({ canCommit }) => canCommit, signal);
      applying.get(kind.name)?.push(await watch());
    }
  }
  return [...usersRows('copy', copying), ...usersRows('apply', applying, copying.get(nobodyName))];
}

/** @returns a function that runs the users once, with new documents of their own each time */
function usersOf(
  { source }: BenchClusters,
  { database, collection, documents }: BenchCollection,
  { folder }: BenchmarkContext,
): () => Promise<UsersResult> {
  let runs = 0;
  return () => {
    runs += 1;
    const order: UsersOrder = {
      source: source.connectionString,
      database,
      collection,
      documentBytes,
      documents,
      firstNewId: documents + runs * 10_000_000,
      users,
      operationsPerSecond,
      duration_seconds: watch_seconds,
    };
    return runMeasured({ name: 'users', script: usersScript, order, limit_ms, logFile: folder.file('users.log') });
  };
}

const nobodyName = 'alone';
/** Users are not slowed more than by ClusterSync. */
const latencyOfPeerMax = 1;
const rateOfPeerMin = 1;

/** What users saw, by the name of the tool beside them, in the order of the rounds. */
type UsersCompared = Map<string, UsersResult[]>;

/**
 * The table of one phase: medians of the rounds, as multiples of those of users alone and beside ClusterSync.
 * @param alone users without a tool, where the phase has none of its own
 */
export function usersRows(phase: string, compared: UsersCompared, alone: readonly UsersResult[] = []): Row[] {
  const nobody = compared.get(nobodyName) ?? alone;
  const peer = compared.get(clusterSyncName) ?? [];
  return [...compared].flatMap(([tool, runs]) => {
    if (runs.length === 0) return [];
    const row = rowMaker(tool === nobodyName ? `users ${tool}` : `users during ${phase}, ${tool}`);
    const rows = measures.map(({ metric, valueOf, unit }) => row(metric, median(runs, valueOf), unit));
    if (tool === nobodyName) return rows;
    const ratios = measures.flatMap(({ metric, valueOf, relation }) => {
      const value = median(runs, valueOf);
      const ofAlone = nobody.length === 0 ? [] : [row(`${metric} of alone`, value / median(nobody, valueOf), '×')];
      if (tool === clusterSyncName || peer.length === 0) return ofAlone;
      const beside = row(`${metric} of ${clusterSyncName}`, value / median(peer, valueOf), '×');
      return [...ofAlone, withGoal(beside, relation, relation === '<=' ? latencyOfPeerMax : rateOfPeerMin)];
    });
    return [...rows, ...ratios];
  });
}

const measures = [
  { metric: 'p50', valueOf: ({ p50_ms }: UsersResult) => p50_ms, unit: 'ms', relation: '<=' },
  { metric: 'p99', valueOf: ({ p99_ms }: UsersResult) => p99_ms, unit: 'ms', relation: '<=' },
  {
    metric: 'rate',
    valueOf: ({ operations, seconds }: UsersResult) => operations / seconds,
    unit: '1/s',
    relation: '>=',
  },
] as const;
