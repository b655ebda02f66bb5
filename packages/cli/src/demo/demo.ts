import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import { Closers } from '@convoy/testbed/closers';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { startFleet, type Fleet } from '../environment/fleet/start-fleet.js';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { LiveView } from '../progress-view/live-view.js';
import { countText } from '@convoy/coordinator/dashboard/views/quantity';
import { compareClusters } from './compare.js';
import { placesOrigin } from './dataset.js';
import { demoSizes, loadDemoData } from './load.js';
import { demoLimits_ms, Migration } from './migration.js';
import { reverseMigration, type ReverseStats } from './reverse.js';
import { Stopwatch } from './stopwatch.js';
import { summaryLines } from './summary.js';
import { Workload, type WorkloadCounts, type WorkloadOptions } from './workload.js';

export interface DemoOptions {
  shards: number;
  destinationShards: number;
  documents: number;
  workload: boolean;
  /** Swaps the clusters after the commit, and commits again. */
  reverse: boolean;
  /** Keeps everything running at the end until interrupted. */
  keep: boolean;
  /** Prints the result as JSON to the standard output, and everything else to the standard error. */
  json: boolean;
}

/** Operations per second of the live workload at most: clearly visible, but light for a small host. */
const workloadRateMax = 500;
/** Loaded documents for each operation per second, at least: a small demo stays small. */
const documentsPerOperation = 20;
/** How long the workload continues after the copy, to show the application of changes. */
const applyStretch_ms = 5_000;
/** The first release that blocks user writes, without which there is no way back. */
const reverseVersionMin = 6;

/**
 * Migrates real data between two clusters under load, with a real fleet, and compares the clusters at the end.
 * @param signal ends the demo and stops everything it started
 * @returns whether both clusters are equal
 */
export async function runDemo(options: DemoOptions, signal: AbortSignal): Promise<boolean> {
  await using closers = new Closers();
  const folder = closers.use(ScratchFolder.create('demo'));
  const watch = new Stopwatch();
  const say = options.json ? console.error : console.log;
  const view = new LiveView(options.json ? process.stderr : process.stdout);
  try {
    const { source, destination, fleet, clients } = await watch.time('set-up', () =>
      setUp(options, folder, closers, signal, say),
    );
    await watch.time('loading', () => loadSource(clients.source, source, options, signal, say));
    const load = workloadOf(options, say);
    const workload = load === null ? undefined : Workload.start({ ...load, client: clients.users.source });
    if (workload) closers.defer(() => workload.stop().catch(() => undefined));
    const migration = new Migration(fleet.coordinator.client, (progress) => view.show(progress), signal);
    const counts = await migrate(migration, fleet, workload, options.reverse, watch);
    const back = options.reverse ? await goBack(migration, fleet, clients.users.destination, load, counts) : undefined;
    view.end();
    say('Comparing definitions and all documents, byte for byte …');
    const comparison = await watch.time('comparing', () => compareClusters(clients.source, clients.destination));
    const stats = {
      setUp_seconds: watch.of('set-up'),
      loading_seconds: watch.of('loading'),
      copy_seconds: watch.of('copy'),
      apply_seconds: watch.of('apply'),
      cutOver_seconds: watch.of('cut-over'),
      comparing_seconds: watch.of('comparing'),
      migration: migration.stats,
      workload: counts,
      reverse: back,
      comparison,
    };
    console.log(options.json ? JSON.stringify(stats) : summaryLines(stats).join('\n'));
    if (options.keep) await keepRunning(source, destination, fleet, folder, signal, say);
    return comparison.equal;
  } catch (error) {
    view.end();
    if (!signal.aborted) {
      folder.keep();
      console.error(`The logs are in ${folder.path}`);
    }
    throw error;
  }
}

/** Prints what happens. */
type Say = (text: string) => void;

type Side = 'source' | 'destination';

interface Running {
  source: TestCluster;
  destination: TestCluster;
  fleet: Fleet;
  /** As root, and as users, whose writes Convoy may block; the same without access control. */
  clients: Record<Side, MongoClient> & { users: Record<Side, MongoClient> };
}

async function setUp(
  options: DemoOptions,
  folder: ScratchFolder,
  closers: Closers,
  signal: AbortSignal,
  say: Say,
): Promise<Running> {
  say(
    `Starting two clusters of ${options.shards} and ${options.destinationShards} shards, Redis, a ` +
      `coordinator and ${options.shards} instances …`,
  );
  const servers = { withUsers: options.reverse };
  const start = async (side: Side, shards: number) =>
    closers.use(await startTestCluster({ name: side, side, topology: { shards }, ...servers, folder }));
  const starting = [start('source', options.shards), start('destination', options.destinationShards)] as const;
  await Promise.allSettled(starting);
  const [source, destination] = await Promise.all(starting);
  signal.throwIfAborted();
  if (options.reverse && source.version[0] < reverseVersionMin)
    throw new Error(`A reverse needs a source from 6.0, and this one is ${source.version.join('.')}.`);
  const shards = { cluster0: migratorCredentials, cluster1: migratorCredentials };
  const fleet = closers.use(
    await startFleet({ source, destination, folder, ...(options.reverse && { settings: { shards } }) }),
  );
  signal.throwIfAborted();
  const clientsOf = (user: 'root' | 'shopper') => ({
    source: new MongoClient(source.connectionStringOf(user)),
    destination: new MongoClient(destination.connectionStringOf(user)),
  });
  const clients = { ...clientsOf('root'), users: clientsOf('shopper') };
  const { users } = clients;
  closers.defer(() =>
    Promise.all([clients.source, clients.destination, users.source, users.destination].map((one) => one.close())),
  );
  say(
    `Servers: ${serversText(source, destination)}; Redis: ${fleet.redis.origin}; fleet API: ` + fleet.coordinator.url,
  );
  return { source, destination, fleet, clients };
}

const programs = { simulator: 'simulator', binaries: 'mongod', containers: 'containers of' } as const;

/** What runs, for example `mongod 8.0.10`; both sides where they differ. */
function serversText(...sides: readonly TestCluster[]): string {
  return [...new Set(sides.map(({ backend, version }) => `${programs[backend]} ${version.join('.')}`))].join(' to ');
}

async function loadSource(
  client: MongoClient,
  source: TestCluster,
  { documents }: DemoOptions,
  signal: AbortSignal,
  say: Say,
): Promise<number> {
  say(`Loading ${countText(documents)} documents: ${placesOrigin} and climate data derived from them …`);
  const loaded = await loadDemoData(client, source.shardIds, demoSizes(documents), () => signal.throwIfAborted());
  return loaded.documents;
}

function workloadOf({ workload, documents }: DemoOptions, say: Say): Omit<WorkloadOptions, 'client'> | null {
  if (!workload) return null;
  const seed = randomInt(2 ** 31);
  const operationsPerSecond = Math.min(workloadRateMax, Math.round(documents / documentsPerOperation));
  say(`Writing to the source continuously: ${operationsPerSecond} operations/s (seed ${seed})`);
  return { measurements: demoSizes(documents).measurements, operationsPerSecond, seed };
}

/** The users of the new cluster continue behind the last `_id`. */
function goBack(
  migration: Migration,
  fleet: Fleet,
  users: MongoClient,
  load: Omit<WorkloadOptions, 'client'> | null,
  counts: WorkloadCounts | undefined,
): Promise<ReverseStats> {
  const further = load === null ? null : { ...load, measurements: load.measurements + (counts?.inserts ?? 0) };
  return reverseMigration(migration, fleet, users, further);
}

/** From start to COMMITTED. */
async function migrate(
  migration: Migration,
  fleet: Fleet,
  workload: Workload | undefined,
  reversible: boolean,
  watch: Stopwatch,
): Promise<WorkloadCounts | undefined> {
  const { client } = fleet.coordinator;
  await watch.time('copy', async () => {
    const way = reversible ? { reversible, enableUserWriteBlocking: true } : {};
    await client.start({ source: 'cluster0', destination: 'cluster1', ...way });
    await migration.follow('the copy is done', demoLimits_ms.copy, ({ info }) => info === 'change event application');
  });
  const counts = await watch.time('apply', async () => {
    const enough = performance.now() + (workload ? applyStretch_ms : 0);
    await migration.follow(
      'the changes are applied',
      demoLimits_ms.catchUp,
      ({ canCommit }) => canCommit && performance.now() >= enough,
    );
    return workload?.stop();
  });
  await watch.time('cut-over', async () => {
    await client.commit();
    await migration.follow('the destination accepts writes', demoLimits_ms.commit, ({ canWrite }) => canWrite === true);
  });
  await migration.follow('the migration is committed', demoLimits_ms.commit, ({ state }) => state === 'COMMITTED');
  return counts;
}

async function keepRunning(
  source: TestCluster,
  destination: TestCluster,
  fleet: Fleet,
  folder: ScratchFolder,
  signal: AbortSignal,
  say: Say,
): Promise<void> {
  say('\nEverything keeps running until Ctrl-C:');
  say(`  source       ${source.connectionString}`);
  say(`  destination  ${destination.connectionString}`);
  say(`  fleet        ${fleet.coordinator.url}   (convoy watch --url ${fleet.coordinator.url})`);
  for (const { name, url } of fleet.instances) say(`  ${name.padEnd(12)} ${url}`);
  say(`  logs         ${folder.path}`);
  if (!signal.aborted) await once(signal, 'abort');
}
