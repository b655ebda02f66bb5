import { createWriteStream } from 'node:fs';
import type { StartedTestContainer } from 'testcontainers';
import { freePort } from '../process/free-port.js';
import { type Launch, startServers, storageArguments, waitingForConnections } from './real-servers.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/** The image may have to be fetched first. */
const readyWithin_ms = 300_000;
const dataPath = '/data/db';

/**
 * A cluster of containers, one for each `mongod` and `mongos`, as `startBinariesCluster` starts processes. They share the
 * network of the host (Linux), so that servers, routers and clients reach each other under the same addresses; a server
 * tells its own to everybody. testcontainers removes them also when this process dies.
 * @param image for example `mongo:6.0`
 */
export async function startContainersCluster(
  { name, topology, oplogBytes, withUsers, folder }: TestClusterOptions,
  image: string,
): Promise<TestCluster> {
  if (withUsers)
    throw new Error('Containers are started without access control: use MONGO_BIN for tests that need users.');
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
      // Its data is thrown away, and a memory disk keeps the machine's own out of the measurements.
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
