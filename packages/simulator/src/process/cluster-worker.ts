import { parentPort, workerData } from 'node:worker_threads';
import { startWholeCluster } from '../cluster/cluster.js';
import { runFaultLine } from './fault-orders.js';
import type { NodeControl } from '../cluster/node-control.js';
import { startWholeReplicaSet } from '../cluster/replica-set.js';
import type { FaultAnswer, FaultMessage, ReadyMessage, WorkerOrder } from './worker-order.js';

interface Running {
  readonly addresses: ReadyMessage;
  readonly nodes: ReadonlyMap<string, NodeControl>;
  close(): Promise<void>;
}

/**
 * Runs what the order describes, reports its addresses once, runs fault orders one after the other, and ends on `stop`.
 */
const order = workerData as WorkerOrder;
const where = order.host === undefined ? {} : { host: order.host };
const running = order.kind === 'replicaSet' ? await replicaSet() : await cluster();
let previous = Promise.resolve();
parentPort?.postMessage(running.addresses);
parentPort?.on('message', (message: 'stop' | FaultMessage) => {
  if (message === 'stop') void running.close().then(() => process.exit(0));
  else previous = previous.then(() => answer(message.faultLine));
});

async function answer(line: string): Promise<void> {
  const reported: FaultAnswer = { answer: await runFaultLine(running.nodes, line) };
  parentPort?.postMessage(reported);
}

async function cluster(): Promise<Running> {
  const started = await startWholeCluster({
    shards: order.shards,
    routers: order.routers,
    version: order.version,
    auth: order.auth,
    basePort: order.port,
    ...where,
    ...order.limits,
  });
  const { router, routers, config, shards, connectionString, nodes } = started;
  return { addresses: { router, routers, config, shards, connectionString }, nodes, close: () => started.close() };
}

async function replicaSet(): Promise<Running> {
  const started = await startWholeReplicaSet({
    ...where,
    port: order.port,
    version: order.version,
    auth: order.auth,
    ...order.limits,
  });
  const { host, connectionString, member } = started;
  const nodes = new Map([[member.control.name, member.control]]);
  return {
    addresses: { replicaSet: host, setName: member.identity.setName, connectionString },
    nodes,
    close: () => started.close(),
  };
}
