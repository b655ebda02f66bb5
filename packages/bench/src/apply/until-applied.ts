import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, type Timestamp } from 'mongodb';
import type { Progress } from '@convoy/api/contract/progress';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { BenchClusters } from '../copy/bench-clusters.js';
import type { ApplyWorkload } from './apply-workload.js';

/** Frequent enough to be exact, and almost free for the servers. */
const poll_ms = 20;
const limit_ms = 300_000;

export async function untilAll(
  instances: readonly InstanceProcess[],
  condition: (seen: Progress) => boolean,
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

/** Resolves once the condition holds. @throws Error at the time limit of 5 min, or the signal's reason */
export async function untilTrue(condition: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const begin = performance.now();
  while (!(await condition())) {
    if (performance.now() - begin > limit_ms) throw new Error(`A tool did not finish within ${limit_ms / 1000} s.`);
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
