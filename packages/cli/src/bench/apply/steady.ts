import { setTimeout as delay } from 'node:timers/promises';
import { progressInfo } from '@convoy/api/contract/progress';
import { type Fleet, startFleet } from '../../environment/fleet/start-fleet.js';
import type { Benchmark, BenchmarkContext } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { readUsage } from '../process-usage.js';
import { prepare, writeReadyMade, writeWorkload } from './apply-run.js';
import { type ApplyWorkload, operationsOf } from './apply-workload.js';
import { checkpoint_ms, passBy, untilAll, untilPassed } from './engine-apply.js';
import { measureIdle } from './idle-engine.js';
import type { BatchForm } from './ready-batches.js';
import { holds, type RateStep, sourceHolds, steadyRows } from './steady-rows.js';

const fractions = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1] as const;
/** Duration of each rate. */
const step_seconds = 10;
const bareOperations = 60_000;
const poll_ms = 250;
const bareForm: BatchForm = { workers: 4, operationsMax: 1_000, order: 'folded' };
/** Small batches for an even rate. */
const pacedForm: BatchForm = { workers: 4, operationsMax: 100, order: 'single' };
const base: Omit<ApplyWorkload, 'operations'> = {
  database: 'bench',
  collection: 'documents',
  documentBytes: 1_000,
  documents: 20_000,
  mix: { insert: 25, update: 60, replace: 15, delete: 0 },
  hotFraction: 0,
  seed: 1,
};

/** An instance in normal operation: the maximum rate it keeps up with, and its cost while idle. */
export const steadyBenchmark: Benchmark = {
  name: 'steady',
  description:
    `writes of 1 kB at growing rates for ${step_seconds} s each, until the engine falls behind; CPU of idle ` +
    'instances',
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    const operations = Math.max(200, Math.round(bareOperations * context.scale));
    context.log('ready-made writes');
    const bare = await writeReadyMade(clusters, context.folder, { ...base, operations }, bareForm);
    const barePerSecond = operations / bare.seconds;
    const steps = await measureRates(clusters, barePerSecond, context);
    context.log('idle');
    await clusters.empty();
    return steadyRows(barePerSecond, steps, await measureIdle(clusters, context));
  },
};

async function measureRates(
  clusters: BenchClusters,
  barePerSecond: number,
  context: BenchmarkContext,
): Promise<RateStep[]> {
  const { folder, log, signal, scale } = context;
  await clusters.empty();
  await prepare(clusters.sourceClient, { ...base, operations: 0 });
  await using fleet = await startFleet({
    source: clusters.source,
    destination: clusters.destination,
    folder,
    settings: { checkpoint_ms },
  });
  await fleet.coordinator.client.start({
    source: 'cluster0',
    destination: 'cluster1',
    verification: { enabled: false },
  });
  await untilAll(fleet.instances, ({ info }) => info === progressInfo.changeEventApplication, signal);
  const steps: RateStep[] = [];
  let documents = base.documents;
  for (const fraction of fractions) {
    signal.throwIfAborted();
    const wantedPerSecond = barePerSecond * fraction;
    const workload = {
      ...base,
      documents,
      operations: Math.max(100, Math.round(wantedPerSecond * step_seconds * Math.min(1, scale))),
    };
    log(`${Math.round(wantedPerSecond)} operations/s`);
    const step = await measureRate(clusters, fleet, workload, wantedPerSecond, fraction, signal, folder);
    steps.push(step);
    if (!holds(step) || !sourceHolds(step)) break;
    // The next step finds the documents that this one inserted.
    documents += operationsOf(workload).filter(({ kind }) => kind === 'insert').length;
  }
  return steps;
}

async function measureRate(
  clusters: BenchClusters,
  { instances }: Fleet,
  workload: ApplyWorkload,
  wantedPerSecond: number,
  fraction: number,
  signal: AbortSignal,
  folder: BenchmarkContext['folder'],
): Promise<RateStep> {
  const pids = instances.map(({ pid }) => pid);
  const before = readUsage(pids).cpu_seconds;
  const stop = new AbortController();
  const lag = watchLag(instances, AbortSignal.any([signal, stop.signal]));
  const written = await writeWorkload(clusters.source, folder, workload, pacedForm, wantedPerSecond);
  const begin = performance.now();
  const last = await passBy(clusters);
  await untilPassed(clusters.destinationClient, clusters.source.shardIds, last, signal);
  const drain_seconds = (performance.now() - begin) / 1000;
  stop.abort();
  const { operations } = workload;
  const cpu_seconds = readUsage(pids).cpu_seconds - before;
  return {
    fraction,
    wantedPerSecond,
    writtenPerSecond: operations / written.seconds,
    lagMax_seconds: await lag,
    drain_seconds,
    cpu_seconds,
    operations,
  };
}

/** The highest lag that the instances report until the signal. */
async function watchLag(instances: Fleet['instances'], signal: AbortSignal): Promise<number> {
  let highest = 0;
  while (!signal.aborted) {
    const seen = await Promise.all(
      instances.map(async ({ client }) => (await client.progress()).progress.lagTimeSeconds ?? 0),
    );
    highest = Math.max(highest, ...seen);
    await delay(poll_ms, undefined, { signal }).catch(() => undefined);
  }
  return highest;
}
