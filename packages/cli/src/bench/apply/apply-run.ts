import { fileURLToPath } from 'node:url';
import type { MongoClient } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { type BenchClusters, shards } from '../copy/bench-clusters.js';
import { fill, shardByHash } from '../copy/bench-documents.js';
import { runMeasured } from '../measured-process.js';
import { watchBusiest } from '../process-usage.js';
import type { ApplyMeasured, ApplyOrder, ApplyResult } from './apply-order.js';
import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

const applyScript = fileURLToPath(new URL('./apply-process.js', import.meta.url));
const limit_ms = 300_000;

/**
 * Creates the workload's collection with its initial documents.
 * @param kind of the cluster; a replica set has no sharded collections
 */
export async function prepare(
  client: MongoClient,
  workload: ApplyWorkload,
  kind: TestCluster['kind'] = 'sharded',
): Promise<void> {
  if (kind === 'sharded') await shardByHash(client, workload, shards);
  await fill(client, workload);
}

/** Writes the workload's operations from ready-made commands in a separate process. */
export async function writeWorkload(
  target: TestCluster,
  folder: ScratchFolder,
  workload: ApplyWorkload,
  form: BatchForm,
  operationsPerSecond?: number,
): Promise<ApplyResult> {
  const order: ApplyOrder = {
    target: target.connectionString,
    workload,
    form,
    ...(operationsPerSecond === undefined ? {} : { operationsPerSecond }),
  };
  return runMeasured({
    name: `${form.order} writes`,
    script: applyScript,
    order,
    limit_ms,
    logFile: folder.file('writes.log'),
  });
}

/** The same into a destination with only the workload's initial documents. */
export async function writeReadyMade(
  clusters: BenchClusters,
  folder: ScratchFolder,
  workload: ApplyWorkload,
  form: BatchForm,
): Promise<ApplyMeasured> {
  await clusters.emptyDestination();
  await prepare(clusters.destinationClient, workload, clusters.destination.kind);
  const { pids } = clusters.destination;
  const busiest = watchBusiest(pids);
  const result = await writeWorkload(clusters.destination, folder, workload, form);
  return { ...result, busiest_seconds: pids.length === 0 ? null : Math.max(result.cpu_seconds, busiest()) };
}
