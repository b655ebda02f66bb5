import { fileURLToPath } from 'node:url';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { BenchClusters } from '../copy/bench-clusters.js';
import { runMeasured } from '../measured-process.js';
import type { RunUsage } from '../process-usage.js';
import type { ApplyOrder } from './apply-order.js';
import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

const applyScript = fileURLToPath(new URL('./apply-process.js', import.meta.url));
const limit_ms = 300_000;

/** Writes the workload's operations from ready-made commands in a separate process. */
export async function writeWorkload(
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
export async function writeReadyMade(
  clusters: BenchClusters,
  folder: ScratchFolder,
  workload: ApplyWorkload,
  form: BatchForm,
): Promise<RunUsage> {
  await clusters.emptyDestination();
  await clusters.load('destination', workload);
  return writeWorkload(clusters.destination, folder, workload, form);
}
