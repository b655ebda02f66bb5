import { startBinariesCluster } from './binaries-cluster.js';
import { startContainersCluster } from './containers-cluster.js';
import { startSimulatedHere } from './local-cluster.js';
import { startSimulatedCluster } from './simulated-cluster.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/**
 * Starts a cluster on free ports of 127.0.0.1: real servers when MONGO_BIN names a folder with `mongod` and `mongos`,
 * containers when MONGO_IMAGE names an image with both, otherwise the simulator.
 * @throws Error with the end of a server's output when it does not start
 */
export function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { MONGO_BIN: binaries, MONGO_IMAGE: image } = process.env;
  if (binaries) return startBinariesCluster(options, binaries);
  if (image) return startContainersCluster(options, image);
  return options.isHere === true ? startSimulatedHere(options) : startSimulatedCluster(options);
}
