import { createWriteStream } from 'node:fs';
import type { StartedTestContainer } from 'testcontainers';
import { freePort } from '../process/free-port.js';
import { type Launch, startServers, storageArguments, waitingForConnections } from './real-servers.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/** Time limit that includes pulling the image. */
const readyWithin_ms = 300_000;
const dataPath = '/data/db';

/**
 * A cluster of containers, one per `mongod` and `mongos`, like the processes of `startBinariesCluster`. They use the
 * host's network (Linux), so that servers, routers and clients reach each other under the same addresses, which servers
 * report to clients. testcontainers also removes them when this process dies.
 * @param image for example `mongo:6.0`
 */
export async function startContainersCluster(
  { name, topology, oplogBytes, withUsers, folder }: TestClusterOptions,
  image: string,
): Promise<TestCluster> {
  if (withUsers) throw new Error('Containers have no access control. Use MONGO_BIN for tests that need users.');
  const { GenericContainer, Wait } = await import('testcontainers');
  const containers: StartedTestContainer[] = [];
  const launch: Launch = async (server, program, args) => {
    const port = await freePort();
    const command = [
      program,
      ...args,
      ...(program === 'mongod' ? storageArguments(dataPath, oplogBytes) : []),
      '--port',
      String(port),
      '--bind_ip',
      '127.0.0.1',
    ];
    const log = createWriteStream(folder.file(`${name}-${server}.log`));
    const container = await new GenericContainer(image)
      .withNetworkMode('host')
      .withCommand(command)
      // The data is discarded, and a memory disk keeps the host's disk out of the measurements.
      .withTmpFs({ [dataPath]: 'rw' })
      .withLogConsumer((stream) => stream.pipe(log))
      .withWaitStrategy(Wait.forLogMessage(waitingForConnections))
      .withStartupTimeout(readyWithin_ms)
      .start();
    containers.push(container);
    return `127.0.0.1:${port}`;
  };
  const close = async () => {
    await Promise.all(containers.map((container) => container.stop({ timeout: 0 })));
  };
  try {
    const described = await startServers(launch, topology);
    return {
      ...described,
      backend: 'containers',
      version: await serverVersion(described.connectionString),
      pids: [],
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
