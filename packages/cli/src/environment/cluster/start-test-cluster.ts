import { startBinariesCluster } from './binaries-cluster.js';
import { startSimulatedCluster } from './simulated-cluster.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/**
 * Starts a cluster on free ports of 127.0.0.1: real servers when MONGO_BIN names a folder with `mongod` and `mongos`,
 * the simulator otherwise.
 * @throws Error when a server does not start, with the end of its output
 */
export function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const binaries = process.env['MONGO_BIN'];
  return binaries ? startBinariesCluster(options, binaries) : startSimulatedCluster(options);
}
