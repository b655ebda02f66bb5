import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeClient, RawWrite } from '@convoy/instance/cluster/node-client';
import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { readUsage } from '../process-usage.js';
import type { ApplyOrder, ApplyResult } from './apply-order.js';
import { readyBatches } from './ready-batches.js';

/**
 * Writes one workload from ready-made commands in its own process: `node apply-process.js ORDER`. Every worker sends
 * one command after the other in its own server session, as retryable writes at majority. Prints an `ApplyResult` as
 * its last line and waits for SIGTERM.
 */
const order = JSON.parse(process.argv[2] ?? '') as ApplyOrder;
const { signal } = new AbortController();
// Before connecting: this takes long, and the driver closes connections that are silent meanwhile.
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
    // A window may delete a document that it also inserted and that never existed.
    const isShort = n !== command.statements.length && command.kind !== 'delete';
    if (failures.length > 0 || isShort)
      throw new Error(
        `A ready-made ${command.kind} failed: ` +
          (failures[0]?.message ?? `${n} of ${command.statements.length} matched`),
      );
    txnNumber += 1n;
  }
}

/** Waits until a worker may send more, according to its part of the rate. */
async function untilDue(operations: number): Promise<void> {
  const { operationsPerSecond, form } = order;
  if (operationsPerSecond === undefined) return;
  const due_ms = (operations * form.workers * 1000) / operationsPerSecond;
  const wait_ms = begin + due_ms - performance.now();
  if (wait_ms > 0) await delay(wait_ms);
}
