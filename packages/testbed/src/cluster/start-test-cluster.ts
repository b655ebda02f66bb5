import { startBinariesCluster } from './binaries-cluster.js';
import { startContainersCluster } from './containers-cluster.js';
import { startSimulatedHere } from './local-cluster.js';
import { serversOf } from './servers-of.js';
import { startSimulatedCluster } from './simulated-cluster.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/**
 * Starts a cluster on free ports of 127.0.0.1, of the servers that the environment names for its side (`serversOf`),
 * otherwise of simulated ones.
 * @throws Error with the end of a server's output when it does not start
 */
export function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const servers = serversOf(options.side);
  if (servers.kind === 'binaries') return startBinariesCluster(options, servers.folder);
  if (servers.kind === 'containers') return startContainersCluster(options, servers.image);
  return options.isHere === true ? startSimulatedHere(options) : startSimulatedCluster(options);
}
