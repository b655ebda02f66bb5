import { fileURLToPath } from 'node:url';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { BenchClusters } from '../copy/bench-clusters.js';
import type { BenchCollection } from '../copy/bench-documents.js';
import { runMeasured } from '../measured-process.js';
import type { VerifyOrder, VerifyResult } from './verify-order.js';

const processScript = fileURLToPath(new URL('./verify-process.js', import.meta.url));
const limit_ms = 600_000;

/** Concurrently compared ranges, as in `convoy verify`. */
const readers = 4;

let runs = 0;

/** Compares a collection in a separate process. */
export async function runVerify(
  { source, destination }: BenchClusters,
  folder: ScratchFolder,
  collection: BenchCollection,
  use: VerifyOrder['use'],
): Promise<VerifyResult> {
  runs += 1;
  const order: VerifyOrder = {
    source: source.connectionString,
    destination: destination.connectionString,
    use,
    collection,
    readers,
    stateFolder: folder.file(`verify-${runs}`),
  };
  return runMeasured({ name: use, script: processScript, order, limit_ms, logFile: folder.file('verify.log') });
}
