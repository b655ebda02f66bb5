import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters, shards } from '../copy/bench-clusters.js';
import { type WorkloadMeasured, workloadRows } from './apply-rows.js';
import { prepare, writeReadyMade } from './apply-run.js';
import type { ApplyWorkload, Mix } from './apply-workload.js';
import { applyByEngine, checkpoint_ms } from './engine-apply.js';
import type { BatchForm } from './ready-batches.js';

interface Case {
  name: string;
  documentBytes: number;
  operations: number;
  /** Initial documents per operation, 0 to 1. */
  documentsFraction: number;
  mix: Mix;
  hotFraction: number;
  promisesSpeed: boolean;
}

const only = (kind: keyof Mix): Mix => ({ insert: 0, update: 0, replace: 0, delete: 0, [kind]: 1 });
const mixed: Mix = { insert: 25, update: 40, replace: 15, delete: 20 };

/**
 * 640,000 events in total. Cases that have a goal run so long that the instance's start does not count: it resumes
 * with all events there.
 */
const cases: readonly Case[] = [
  {
    name: 'insert 1 kB',
    documentBytes: 1_000,
    operations: 200_000,
    documentsFraction: 0.01,
    mix: only('insert'),
    hotFraction: 0,
    promisesSpeed: true,
  },
  {
    name: 'update 1 kB',
    documentBytes: 1_000,
    operations: 200_000,
    documentsFraction: 0.2,
    mix: only('update'),
    hotFraction: 0,
    promisesSpeed: true,
  },
  {
    name: 'mixed 200 B',
    documentBytes: 200,
    operations: 100_000,
    documentsFraction: 0.5,
    mix: mixed,
    hotFraction: 0,
    promisesSpeed: false,
  },
  {
    name: 'mixed 1 kB',
    documentBytes: 1_000,
    operations: 80_000,
    documentsFraction: 0.5,
    mix: mixed,
    hotFraction: 0,
    promisesSpeed: false,
  },
  {
    name: 'hot documents 1 kB',
    documentBytes: 1_000,
    operations: 40_000,
    documentsFraction: 0.5,
    mix: mixed,
    hotFraction: 0.5,
    promisesSpeed: false,
  },
  {
    name: 'mixed 10 kB',
    documentBytes: 10_000,
    operations: 20_000,
    documentsFraction: 0.5,
    mix: mixed,
    hotFraction: 0,
    promisesSpeed: false,
  },
];

/** How ready-made writes are sent; the fastest form is the limit that the engine is compared with. */
const unorderedForms: readonly BatchForm[] = [
  { workers: 2, operationsMax: 1_000, order: 'folded' },
  { workers: 4, operationsMax: 1_000, order: 'folded' },
  { workers: 8, operationsMax: 1_000, order: 'folded' },
  { workers: 4, operationsMax: 4_000, order: 'folded' },
];
/** As other tools send them on a host with two processors: 2 workers, at most 5,000 operations. */
const orderedForm: BatchForm = { workers: 2, operationsMax: 5_000, order: 'ordered' };
/** Ordered batches are slow: they get this fraction of the operations. */
const orderedFraction = 0.1;

/** Engine and ready-made writes take turns, so that other load on the host affects both. */
const rounds = 2;

const totalOperations = cases.reduce((sum, { operations }) => sum + operations, 0);

/** Speed of applying events, compared with ready-made unordered bulk writes. */
export const applyBenchmark: Benchmark = {
  name: 'apply',
  description:
    `${totalOperations} recorded events, ${shards} → ${shards} shards by hashed _id: the engine ` +
    `(checkpoints every ${checkpoint_ms} ms) compared with ready-made bulk writes`,
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    const rows: Row[] = [];
    for (const one of cases) rows.push(...workloadRows(await measure(clusters, one, context)));
    return rows;
  },
};

/** The case's workload with its operations times `scale`, at least 200. */
function workloadOf(
  { documentBytes, operations, documentsFraction, mix, hotFraction }: Case,
  scale: number,
): ApplyWorkload {
  const scaled = Math.max(200, Math.round(operations * scale));
  return {
    database: 'bench',
    collection: 'documents',
    documentBytes,
    documents: Math.ceil(scaled * documentsFraction),
    operations: scaled,
    mix,
    hotFraction,
    seed: 1,
  };
}

async function measure(clusters: BenchClusters, one: Case, context: BenchmarkContext): Promise<WorkloadMeasured> {
  const { folder, log, signal, scale } = context;
  const workload = workloadOf(one, scale);
  const sweep: WorkloadMeasured['sweep'] = [];
  for (const form of unorderedForms) {
    signal.throwIfAborted();
    log(`${one.name}: ready-made writes, ${form.workers} workers of ${form.operationsMax}`);
    sweep.push({ form, result: await writeReadyMade(clusters, folder, workload, form) });
  }
  const best = sweep.reduce((fastest, each) => (each.result.seconds < fastest.result.seconds ? each : fastest)).form;
  const bare: WorkloadMeasured['bare'] = [];
  const engine: WorkloadMeasured['engine'] = [];
  for (let round = 1; round <= rounds; round += 1) {
    signal.throwIfAborted();
    log(`${one.name}: round ${round} of ${rounds}`);
    await clusters.empty();
    await prepare(clusters.sourceClient, workload);
    engine.push(await applyByEngine(clusters, workload, context));
    bare.push(await writeReadyMade(clusters, folder, workload, best));
  }
  log(`${one.name}: ordered batches`);
  const fewer = workloadOf(one, scale * orderedFraction);
  const ordered = { operations: fewer.operations, result: await writeReadyMade(clusters, folder, fewer, orderedForm) };
  return {
    name: one.name,
    operations: workload.operations,
    sweep,
    bare,
    engine,
    ordered,
    promisesSpeed: one.promisesSpeed,
  };
}
