import { parentPort, workerData } from 'node:worker_threads';
import { startCluster } from './cluster.js';
import { startReplicaSet } from './replica-set.js';
import type { ClusterAddresses, ReplicaSetAddresses, WorkerOrder } from './worker-order.js';

/** Runs what was ordered, reports its addresses once, and ends on the first message. */
const order = workerData as WorkerOrder;
const running = order.kind === 'replicaSet' ? await replicaSet() : await cluster();
parentPort?.postMessage(running.addresses);
parentPort?.once('message', () => void running.close().then(() => process.exit(0)));

async function cluster(): Promise<{ addresses: ClusterAddresses; close: () => Promise<void> }> {
  const started = await startCluster({ shards: order.shards, routers: order.routers, version: order.version, auth: order.auth, basePort: order.port, ...order.limits });
  const { router, routers, config, shards, connectionString } = started;
  return { addresses: { router, routers, config, shards, connectionString }, close: () => started.close() };
}

async function replicaSet(): Promise<{ addresses: ReplicaSetAddresses; close: () => Promise<void> }> {
  const started = await startReplicaSet({ port: order.port, version: order.version, auth: order.auth, ...order.limits });
  const { host, connectionString, member } = started;
  return { addresses: { replicaSet: host, setName: member.identity.setName, connectionString }, close: () => started.close() };
}
