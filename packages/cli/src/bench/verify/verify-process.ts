import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { printResult } from '../own-usage.js';
import { readUsage } from '../process-usage.js';
import { bareComparison } from './bare-comparison.js';
import { verifierComparison } from './verifier-comparison.js';
import type { VerifyOrder, VerifyResult } from './verify-order.js';

/**
 * Runs one order in its own process: `node verify-process.js ORDER`. Its result is a `VerifyResult`.
 */
const order = JSON.parse(process.argv[2] ?? '') as VerifyOrder;
const { signal } = new AbortController();
const source = await openCluster('cluster0', order.source, { direct: false, signal });
const destination = await openCluster('cluster1', order.destination, { direct: false, signal });
/** Seconds and CPU seconds since the start of the process. */
const now = () => {
  const { user, system } = process.cpuUsage();
  return { seconds: performance.now() / 1000, cpu_seconds: (user + system) / 1e6 };
};
const begin = now();
let comparing = begin;
let compared: typeof begin | undefined;
const mismatches = await (order.use === 'loop'
  ? bareComparison(source, destination, order)
  : verifierComparison(source, destination, order, (phase) => {
      if (phase === 'comparing') comparing = now();
      if (phase === 'comparing definitions') compared = now();
    }));
const end = now();
compared ??= end;
const result: VerifyResult = {
  seconds: compared.seconds - comparing.seconds,
  cpu_seconds: compared.cpu_seconds - comparing.cpu_seconds,
  peakMemoryBytes: readUsage([process.pid]).peakMemoryBytes,
  mismatches,
  catalogs_seconds: comparing.seconds - begin.seconds + end.seconds - compared.seconds,
  catalogsCpu_seconds: comparing.cpu_seconds - begin.cpu_seconds + end.cpu_seconds - compared.cpu_seconds,
};
printResult(result);
