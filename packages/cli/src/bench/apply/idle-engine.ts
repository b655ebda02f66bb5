import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceProcess } from '../../environment/fleet/instance-process.js';
import { startFleet, startLoneInstance } from '../../environment/fleet/start-fleet.js';
import { progressInfo } from '@convoy/api/contract/progress';
import type { BenchmarkContext } from '../benchmark.js';
import type { BenchClusters } from '../copy/bench-clusters.js';
import { readUsage } from '../process-usage.js';
import { untilAll } from './engine-apply.js';
import type { IdleMeasured } from './steady-rows.js';

/** After this time the start is over and an idle instance has settled, which takes 10 s. */
const settle_ms = 13_000;
const watch_ms = 20_000;
const body = { source: 'cluster0', destination: 'cluster1', verification: { enabled: false } } as const;

/** CPU of instances that follow a source without writes: fleet members with Redis, and a lone one. */
export async function measureIdle(clusters: BenchClusters, context: BenchmarkContext): Promise<IdleMeasured[]> {
  const options = { source: clusters.source, destination: clusters.destination, folder: context.folder };
  await clusters.emptyDestination();
  const measured: IdleMeasured[] = [];
  {
    await using fleet = await startFleet(options);
    await fleet.coordinator.client.start(body);
    measured.push({ name: 'fleet member', cpuFraction: await busiest(fleet.instances, context) });
  }
  await clusters.emptyDestination();
  await using lone = await startLoneInstance(options);
  await lone.client.start(body);
  measured.push({ name: 'lone instance', cpuFraction: await busiest([lone], context) });
  return measured;
}

async function busiest(instances: readonly InstanceProcess[], { scale, signal }: BenchmarkContext): Promise<number> {
  await untilAll(instances, ({ info }) => info === progressInfo.changeEventApplication, signal);
  await delay(settle_ms, undefined, { signal });
  const used = (): number[] => instances.map(({ pid }) => readUsage([pid]).cpu_seconds);
  const [begin, before] = [performance.now(), used()];
  await delay(Math.max(1_000, watch_ms * Math.min(1, scale)), undefined, { signal });
  const seconds = (performance.now() - begin) / 1000;
  return Math.max(...used().map((cpu_seconds, index) => (cpu_seconds - (before[index] ?? 0)) / seconds));
}
