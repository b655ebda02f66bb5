import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkContext, Row } from '../benchmark.js';
import type { ApplyWorkload } from '../apply/apply-workload.js';
import { compare, passBy } from '../apply/until-applied.js';
import type { BatchForm } from '../apply/ready-batches.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { benchDocumentBytes, benchNamespace } from '../copy/bench-documents.js';
import { applyRows, type ApplyRun, type BacklogCompared } from './apply-rows.js';
import { settle_ms, watchCost } from './cost.js';
import { type ToolKind, untilSeen, type Written } from './migration-tool.js';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';
import type { RunUsage } from '../process-usage.js';

/** The order of a process for ready-made writes, as JSON in its argument. */
export interface ApplyOrder {
  /** Connection string of the router to write to. */
  target: string;
  workload: ApplyWorkload;
  form: BatchForm;
}

const applyScript = new URL('../apply/apply-process.js', import.meta.url);
const limit_ms = 300_000;

/** Writes the workload's operations from ready-made commands in a separate process. */
async function writeWorkload(
  target: TestCluster,
  folder: ScratchFolder,
  workload: ApplyWorkload,
  form: BatchForm,
): Promise<RunUsage> {
  const order: ApplyOrder = { target: target.connectionString, workload, form };
  return runMeasured({
    name: `${form.order} writes`,
    script: applyScript,
    order,
    limit_ms,
    logFile: folder.file('writes.log'),
  });
}

/** The same into a destination with only the workload's initial documents. */
async function writeReadyMade(
  clusters: BenchClusters,
  folder: ScratchFolder,
  workload: ApplyWorkload,
  form: BatchForm,
): Promise<RunUsage> {
  await clusters.emptyDestination();
  await clusters.load('destination', workload);
  return writeWorkload(clusters.destination, folder, workload, form);
}

/** Writes that wait while the tool is paused. */
export interface Backlog extends Pick<BacklogCompared, 'name'> {
  workload: Pick<ApplyWorkload, 'mix' | 'hotFraction' | 'hotChange'>;
}

/** Half inserts, half updates of documents that are there. */
export const plainBacklog: Backlog = {
  name: 'backlog',
  workload: { mix: { insert: 50, update: 50, replace: 0, delete: 0 }, hotFraction: 0 },
};

/** All kinds of writes. */
export const mixedBacklog: Backlog = {
  name: 'mixed backlog',
  workload: { mix: { insert: 25, update: 40, replace: 15, delete: 20 }, hotFraction: 0 },
};

/**
 * A field in an embedded document: before 6.1 its event looks like that of a field with a dot in its name, so that
 * Convoy re-reads the document.
 */
export const nestedBacklog: Backlog = {
  name: 'nested updates',
  workload: { mix: { insert: 0, update: 1, replace: 0, delete: 0 }, hotFraction: 1, hotChange: 'nested' },
};

const operations = 80_000;
/** Before the measurement: a new process is still compiling its code. */
const warmUpOperations = 20_000;
/** Checkpoints of Convoy end the measurement, so they are more frequent than by default (1 s). */
export const checkpoint_ms = 100;
/** The fastest way to write single operations to the source. */
const recordForm: BatchForm = { workers: 4, operationsMax: 1_000, order: 'single' };
/** The bare limit: unordered bulk commands. */
const bareForm: BatchForm = { workers: 4, operationsMax: 1_000, order: 'folded' };
const rounds = 3;

/** A backlog, and the bare limit of the same writes. */
export async function measureBacklog(
  { name, workload: changes }: Backlog,
  tools: readonly ToolKind[],
  context: BenchmarkContext,
): Promise<Row[]> {
  const { folder, log, scale, signal } = context;
  await using clusters = await BenchClusters.start(folder, 'replicaSet');
  const count = Math.max(200, Math.round(operations * scale));
  const existing = Math.ceil(count / 2);
  const workload: ApplyWorkload = {
    ...benchNamespace,
    documentBytes: benchDocumentBytes,
    text: 'varied',
    ...changes,
    operations: count,
    documents: existing,
    hotDocuments: existing,
  };
  const bare: BacklogCompared['bare'] = [];
  const runs = new Map<string, ApplyRun[]>(tools.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const tool of tools) {
      signal.throwIfAborted();
      log(`${name}: round ${round} of ${rounds}, ${tool.name}`);
      runs.get(tool.name)?.push(await applyWith(tool, clusters, workload, recordForm, context));
    }
    log(`${name}: round ${round} of ${rounds}, bare unordered writes`);
    bare.push(await writeReadyMade(clusters, folder, workload, bareForm));
  }
  return applyRows({ name, operations: count, bare, tools: runs });
}

/**
 * Lets a tool copy the workload's initial documents and apply similar writes. Pauses it while the workload is written
 * to the source, and measures from the resumption until all of it is applied, and then verified.
 * @param form how the workload is written
 */
export async function applyWith(
  kind: ToolKind,
  clusters: BenchClusters,
  workload: ApplyWorkload,
  form: BatchForm,
  { folder, signal }: BenchmarkContext,
): Promise<ApplyRun> {
  await clusters.empty();
  const warmUp = { ...workload, collection: 'warmUp', operations: Math.min(warmUpOperations, workload.operations) };
  for (const each of [workload, warmUp]) await clusters.load('source', each);
  await using tool = await kind.open(clusters, folder);
  await tool.start();
  await untilSeen(tool, ({ canCommit }) => canCommit, signal);
  const write = async (each: ApplyWorkload): Promise<Written> => {
    const { eventsApplied: appliedBefore } = await tool.progress();
    await writeWorkload(clusters.source, folder, each, form);
    return { appliedBefore, events: each.operations, last: await passBy(clusters) };
  };
  await tool.untilApplied(await write(warmUp), signal);
  await tool.pause();
  await untilSeen(tool, ({ paused }) => paused, signal);
  const written = await write(workload);
  await delay(settle_ms, undefined, { signal });
  const cost = watchCost(clusters, tool.pids);
  await tool.resume();
  await tool.untilApplied(written, signal);
  const applied = cost();
  await untilSeen(tool, ({ checked }) => checked, signal);
  const checked = cost();
  await compare(clusters, workload, signal);
  return { ...applied, checked };
}
