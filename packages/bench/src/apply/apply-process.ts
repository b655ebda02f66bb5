import { randomBytes } from 'node:crypto';
import type { NodeClient, RawWrite } from '@convoy/instance/cluster/node-client';
import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { measureOwn, printResult } from '../own-usage.js';
import type { ApplyOrder } from '../peer/apply-part.js';
import { readyBatches } from './ready-batches.js';

/**
 * Writes one workload from ready-made commands in its own process: `node apply-process.js ORDER`. Every worker sends
 * one command after the other in its own server session, as retryable writes at majority. Its result is a `RunUsage`.
 */
const order = JSON.parse(process.argv[2] ?? '') as ApplyOrder;
const { signal } = new AbortController();
// Before connecting: this takes long, and the driver closes connections that are silent meanwhile.
const workers = readyBatches(order.workload, order.form);
const { router } = await openCluster('cluster1', order.target, { direct: false, signal });
printResult(await measureOwn(() => Promise.all(workers.map((commands) => sendForWorker(router, commands)))));

async function sendForWorker(client: NodeClient, commands: readonly RawWrite[]): Promise<void> {
  const lsid = randomBytes(16);
  let txnNumber = 1n;
  for (const command of commands) {
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
