import { loadavg } from 'node:os';
import { findRedis } from '@convoy/testbed/redis/find-redis';
import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { EngineClusters } from './engine-clusters.js';
import { measureEngines } from './engine-part.js';
import { measureMembers } from './members-part.js';
import { RedisObserver } from './redis-observer.js';
import { ScaleFleet } from './scale-fleet.js';
import { scaleRows, type MeasuredFleet, type Stat } from './scale-rows.js';

const memberSizes = [16, 64, 256];
const engineSizes = [4, 16, 64];
/** Measured seconds of each phase. */
const phase_seconds = 15;

const kinds = [
  { kind: 'members', sizes: memberSizes, measure: measureMembersOf },
  { kind: 'engines', sizes: engineSizes, measure: measureEnginesOf },
] as const;

type Measure = (size: number, redis: string, stats: Stat[], context: BenchmarkContext) => Promise<void>;

/** What a fleet of many instances costs: Redis, the coordinator, dashboards, members, metadata, and how each grows. */
export const scaleBenchmark: Benchmark = {
  name: 'scale',
  description:
    `fleets of ${memberSizes.join(', ')} members that report and take commands but sync nothing, and of ` +
    `${engineSizes.join(', ')} whole engines between two clusters with as many shards, in a few processes: commands, ` +
    'elections, dashboards, Redis, metadata, CPU, and how they grow',
  parts: kinds.flatMap(({ kind, sizes }) => sizes.map((size) => `${kind}-${size}`)),
  async run(context) {
    const rows: Row[] = [];
    for (const { kind, sizes, measure } of kinds) {
      const measured: MeasuredFleet[] = [];
      for (const size of sizes)
        if (context.parts?.has(`${kind}-${size}`) !== false)
          measured.push({ size, stats: await statsOf(`${size} ${kind}`, size, measure, context) });
      rows.push(...scaleRows(kind, measured));
    }
    return rows;
  },
};

/** What was measured before a fleet that is too large failed, or all of it. */
async function statsOf(name: string, size: number, measure: Measure, context: BenchmarkContext): Promise<Stat[]> {
  const { folder, log, signal } = context;
  signal.throwIfAborted();
  const stats: Stat[] = [];
  const load = (): number => loadavg()[0] ?? Number.NaN;
  log(`${name}, load ${load().toFixed(1)}`);
  await using redis = await findRedis(folder);
  await measure(size, redis.url, stats, context).catch((error: unknown) => {
    if (signal.aborted) throw error;
    log(`${name} failed: ${String(error)}`);
  });
  return [...stats, ['load of the machine', load(), '']];
}

async function measureMembersOf(
  size: number,
  redis: string,
  stats: Stat[],
  { folder, scale, signal }: BenchmarkContext,
): Promise<void> {
  using observer = new RedisObserver(redis);
  const ids = Array.from({ length: size }, (_, at) => `rs-shard-${String(at).padStart(3, '0')}`);
  await using fleet = await ScaleFleet.start({ redis, ids, folder });
  await measureMembers(fleet, observer, Math.max(2, phase_seconds * scale), stats, signal);
}

async function measureEnginesOf(
  size: number,
  redis: string,
  stats: Stat[],
  { folder, scale, signal }: BenchmarkContext,
): Promise<void> {
  using observer = new RedisObserver(redis);
  await using clusters = await EngineClusters.start(size, folder);
  const { source, destination } = clusters;
  await using fleet = await ScaleFleet.start({
    redis,
    ids: source.shardIds,
    folder,
    clusters: { cluster0: source.connectionString, cluster1: destination.connectionString },
  });
  await measureEngines(fleet, clusters, observer, Math.max(2, phase_seconds * scale), stats, signal);
}
