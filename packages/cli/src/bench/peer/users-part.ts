import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { type BenchCollection, benchNamespace } from '../copy/bench-documents.js';
import { runMeasured } from '../measured-process.js';
import { settle_ms } from './cost.js';
import { type ToolKind, untilSeen } from './migration-tool.js';
import type { UsersOrder, UsersResult } from './users-order.js';
import { nobodyName, type UsersCompared, usersRows } from './users-rows.js';

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
