import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkContext, Row } from '../benchmark.js';
import { prepare, writeReadyMade, writeWorkload } from '../apply/apply-run.js';
import type { ApplyWorkload } from '../apply/apply-workload.js';
import { compare, passBy, recordForm } from '../apply/engine-apply.js';
import type { BatchForm } from '../apply/ready-batches.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { applyRows, type BacklogCompared } from './apply-rows.js';
import { type Cost, watchCost } from './cost.js';
import { type MigrationTool, type ToolKind, untilSeen, type Written } from './migration-tool.js';
import { settle_ms } from './turns.js';

/** Writes that wait while the tool is paused. */
export interface Backlog extends Pick<BacklogCompared, 'name' | 'promisesSpeed'> {
  workload: Pick<ApplyWorkload, 'mix' | 'hotFraction' | 'hotChange'>;
}

/** Half inserts, half updates of documents that are there. */
export const mixedBacklog: Backlog = {
  name: 'backlog',
  workload: { mix: { insert: 50, update: 50, replace: 0, delete: 0 }, hotFraction: 0 },
  promisesSpeed: true,
};

/**
 * A field in an embedded document: before 6.1 its event looks like that of a field with a dot in its name, so that
 * Convoy re-reads the document.
 */
export const nestedBacklog: Backlog = {
  name: 'nested updates',
  workload: { mix: { insert: 0, update: 1, replace: 0, delete: 0 }, hotFraction: 1, hotChange: 'nested' },
  promisesSpeed: false,
};

/** Documents of 1 kB. */
const documents: Omit<ApplyWorkload, 'operations' | 'documents' | 'mix' | 'hotFraction'> = {
  database: 'bench',
  collection: 'documents',
  documentBytes: 1_000,
  text: 'varied',
  seed: 1,
};
const operations = 80_000;
/** Before the measurement: a new process is still compiling its code. */
const warmUpOperations = 20_000;
/** The bare limit: unordered bulk commands, as in the benchmark `apply`. */
const bareForm: BatchForm = { workers: 4, operationsMax: 1_000, order: 'folded' };
const rounds = 2;

/** A backlog, and the bare limit of the same writes. */
export async function measureBacklog(
  { name, workload: changes, promisesSpeed }: Backlog,
  tools: readonly ToolKind[],
  context: BenchmarkContext,
): Promise<Row[]> {
  const { folder, log, scale, signal } = context;
  await using clusters = await BenchClusters.start(folder, 'replicaSet');
  const count = Math.max(200, Math.round(operations * scale));
  const existing = Math.ceil(count / 2);
  const workload = { ...documents, ...changes, operations: count, documents: existing, hotDocuments: existing };
  const bare: BacklogCompared['bare'] = [];
  const runs = new Map<string, Cost[]>(tools.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const tool of tools) {
      signal.throwIfAborted();
      log(`${name}: round ${round} of ${rounds}, ${tool.name}`);
      runs.get(tool.name)?.push(await applyWith(tool, clusters, workload, context));
    }
    log(`${name}: round ${round} of ${rounds}, bare unordered writes`);
    bare.push(await writeReadyMade(clusters, folder, workload, bareForm));
  }
  return applyRows({ name, promisesSpeed, operations: count, bare, tools: runs });
}

async function applyWith(
  kind: ToolKind,
  clusters: BenchClusters,
  workload: ApplyWorkload,
  { folder, signal }: BenchmarkContext,
): Promise<Cost> {
  await clusters.empty();
  const warmUp = { ...workload, collection: 'warmUp', operations: Math.min(warmUpOperations, workload.operations) };
  for (const each of [workload, warmUp]) await prepare(clusters.sourceClient, each, clusters.source.kind);
  await using tool = await kind.open(clusters, folder);
  await tool.start();
  await untilSeen(tool, ({ canCommit }) => canCommit, signal);
  const write = (each: ApplyWorkload) => writeAll(tool, clusters, each, folder);
  await tool.untilApplied(await write(warmUp), signal);
  await tool.pause();
  await untilSeen(tool, ({ paused }) => paused, signal);
  const written = await write(workload);
  await delay(settle_ms, undefined, { signal });
  const cost = watchCost(clusters, tool.pids);
  await tool.resume();
  await tool.untilApplied(written, signal);
  const applied = cost();
  await compare(clusters, workload, signal);
  return applied;
}

async function writeAll(
  tool: MigrationTool,
  clusters: BenchClusters,
  workload: ApplyWorkload,
  folder: BenchmarkContext['folder'],
): Promise<Written> {
  const { eventsApplied } = await tool.progress();
  await writeWorkload(clusters.source, folder, workload, recordForm);
  return { appliedBefore: eventsApplied, events: workload.operations, last: await passBy(clusters) };
}
