import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeClient, RawWrite } from '@convoy/instance/cluster/node-client';
import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { readUsage } from '../process-usage.js';
import type { ApplyOrder, ApplyResult } from './apply-order.js';
import { readyBatches } from './ready-batches.js';

/**
 * Writes one workload from ready-made commands, as a process of its own: `node apply-process.js ORDER`. Every lane sends one command after
 * the other in a server session of its own, as retryable writes at majority. Prints an `ApplyResult` as its last line and waits for SIGTERM.
 */
const order = JSON.parse(process.argv[2] ?? '') as ApplyOrder;
const { signal } = new AbortController();
// Made before anything is connected: it takes long, and the driver gives up connections that are not heard meanwhile.
const workers = readyBatches(order.workload, order.form);
const { router } = await openCluster('cluster1', order.target, { direct: false, signal });
const cpuBefore = process.cpuUsage();
const begin = performance.now();
await Promise.all(workers.map((commands) => sendForWorker(router, commands)));
const seconds = (performance.now() - begin) / 1000;
const cpu = process.cpuUsage(cpuBefore);
const result: ApplyResult = {
  seconds,
  cpu_seconds: (cpu.user + cpu.system) / 1e6,
  peakMemoryBytes: readUsage([process.pid]).peakMemoryBytes,
};
console.log(JSON.stringify(result));
setInterval(() => undefined, 60_000);

async function sendForWorker(client: NodeClient, commands: readonly RawWrite[]): Promise<void> {
  const lsid = randomBytes(16);
  let txnNumber = 1n;
  let operations = 0;
  for (const command of commands) {
    await untilDue(operations);
    operations += command.statements.length;
    const { n, failures } = await client.write(command, { lsid, txnNumber }, { signal });
    // A document that was inserted and deleted in one window is deleted without being there.
    const isShort = n !== command.statements.length && command.kind !== 'delete';
    if (failures.length > 0 || isShort)
      throw new Error(
        `A ready-made ${command.kind} failed: ${failures[0]?.message ?? `${n} of ${command.statements.length} matched`}`,
      );
    txnNumber += 1n;
  }
}

/** Waits until a lane may send more, when it has sent so many operations of its part of the rate. */
async function untilDue(operations: number): Promise<void> {
  const { operationsPerSecond, form } = order;
  if (operationsPerSecond === undefined) return;
  const due_ms = (operations * form.workers * 1000) / operationsPerSecond;
  const wait_ms = begin + due_ms - performance.now();
  if (wait_ms > 0) await delay(wait_ms);
}
