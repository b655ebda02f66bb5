import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, type Timestamp } from 'mongodb';
import { progressInfo } from '@convoy/api/contract/progress';
import type { InstanceProcess } from '../../environment/fleet/instance-process.js';
import { startFleet } from '../../environment/fleet/start-fleet.js';
import type { BenchmarkContext } from '../benchmark.js';
import type { BenchClusters } from '../copy/bench-clusters.js';
import { readUsage, watchBusiest } from '../process-usage.js';
import type { ApplyMeasured } from './apply-order.js';
import { prepare, writeWorkload } from './apply-run.js';
import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

/** Frequent enough to be exact, and almost free for the servers. */
const poll_ms = 20;
const limit_ms = 300_000;
/** Checkpoints determine the duration, so they are more frequent than by default (1 s). */
export const checkpoint_ms = 100;
/** Operations of the same kinds before the measurement: a new process is still compiling its code. */
const warmUpOperations = 20_000;
/** The fastest way to write single operations to the source. */
export const recordForm = { workers: 4, operationsMax: 1_000, order: 'single' } as const;

/**
 * Starts a fleet that copies the initial documents and applies a similar workload of another collection. Pauses it
 * while the workload is written to the source. Measures from the resume request until every sync task's checkpoint has
 * passed the last event.
 */
export async function applyByEngine(
  clusters: BenchClusters,
  workload: ApplyWorkload,
  { folder, signal }: BenchmarkContext,
  form: BatchForm = recordForm,
): Promise<ApplyMeasured> {
  await clusters.emptyDestination();
  const { source, destination } = clusters;
  const warmUp = warmUpOf(workload);
  await prepare(clusters.sourceClient, warmUp);
  await using fleet = await startFleet({ source, destination, folder, settings: { checkpoint_ms } });
  const { client } = fleet.coordinator;
  await client.start({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } });
  await untilAll(fleet.instances, ({ info }) => info === progressInfo.changeEventApplication, signal);
  await writeWorkload(source, folder, warmUp, form);
  await untilPassed(clusters.destinationClient, source.shardIds, await passBy(clusters), signal);
  await client.pause();
  await untilAll(fleet.instances, ({ state }) => state === 'PAUSED', signal);
  await writeWorkload(source, folder, workload, form);
  const last = await passBy(clusters);
  const pids = fleet.instances.map(({ pid }) => pid);
  const before = readUsage(pids).cpu_seconds;
  const servers = [...source.pids, ...destination.pids];
  const busiest = watchBusiest([...pids, ...servers]);
  const begin = performance.now();
  await client.resume();
  await untilPassed(clusters.destinationClient, source.shardIds, last, signal);
  const seconds = (performance.now() - begin) / 1000;
  const { cpu_seconds, peakMemoryBytes } = readUsage(pids);
  const busiest_seconds = servers.length === 0 ? null : busiest();
  await compare(clusters, workload, signal);
  return { seconds, cpu_seconds: cpu_seconds - before, peakMemoryBytes, busiest_seconds };
}

function warmUpOf(workload: ApplyWorkload): ApplyWorkload {
  const operations = Math.min(warmUpOperations, workload.operations);
  return {
    ...workload,
    collection: `${workload.collection}BeforeTheClock`,
    documents: Math.ceil((workload.documents * operations) / workload.operations),
    operations,
  };
}

/** The used fields of one instance's progress. */
type Seen = Awaited<ReturnType<InstanceProcess['client']['progress']>>['progress'];

export async function untilAll(
  instances: readonly InstanceProcess[],
  condition: (seen: Seen) => boolean,
  signal: AbortSignal,
): Promise<void> {
  await untilTrue(async () => {
    const seen = await Promise.all(
      instances.map(async (instance) => (await instance.client.progress({ signal })).progress),
    );
    return seen.every(condition);
  }, signal);
}

/**
 * Writes a note on every shard, so that no stream ends with its last event.
 * @returns a time at or above every event so far
 */
export async function passBy({ source, sourceClient }: BenchClusters): Promise<Timestamp> {
  const { operationTime } = await sourceClient.db('admin').command({ ping: 1 });
  for (const id of source.shardIds) {
    await using client = new MongoClient(source.shardConnectionString(id));
    await client.db('admin').command({ appendOplogNote: 1, data: { bench: 'end' } });
  }
  return operationTime as Timestamp;
}

/** Resolves once the checkpoints of all sync tasks have passed a time. */
export async function untilPassed(
  destination: MongoClient,
  shardIds: readonly string[],
  time: Timestamp,
  signal: AbortSignal,
): Promise<void> {
  const tasks = destination.db('convoy_metadata').collection<{ _id: string; checkpoint: Timestamp }>('tasks');
  await untilTrue(
    async () => (await tasks.find({ checkpoint: { $gt: time } }).toArray()).length === shardIds.length,
    signal,
  );
}

async function untilTrue(condition: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const begin = performance.now();
  while (!(await condition())) {
    if (performance.now() - begin > limit_ms) throw new Error(`The engine did not finish within ${limit_ms / 1000} s.`);
    await delay(poll_ms, undefined, { signal });
  }
}

/** A result counts only if the work was done; documents that are still to be re-read get the time for it. */
export async function compare(clusters: BenchClusters, workload: ApplyWorkload, signal: AbortSignal): Promise<void> {
  const wanted = await documentsOf(clusters.sourceClient, workload);
  await untilTrue(async () => (await documentsOf(clusters.destinationClient, workload)) === wanted, signal);
}

/** All documents without their texts. */
async function documentsOf(client: MongoClient, { database, collection }: ApplyWorkload): Promise<string> {
  const documents = client
    .db(database)
    .collection<{ _id: number }>(collection)
    .find({}, { projection: { text: 0 } });
  return (await documents.toArray())
    .map((document) => JSON.stringify(document))
    .sort()
    .join();
}
