import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { StartedTestContainer } from 'testcontainers';
import { freePort } from '../process/free-port.js';
import { type Launch, startServers, storageArguments, waitingForConnections } from './real-servers.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/** Time limit that includes pulling the image. */
const readyWithin_ms = 300_000;
const dataPath = '/data/db';
const keyPath = '/tmp/convoy-key';

/** Writes its first argument as the key file, and becomes the server of the others. */
const withKey = `umask 077; printf %s "$1" > ${keyPath}; shift; exec "$@"`;

/**
 * A cluster of containers, one per `mongod` and `mongos`, like the processes of `startBinariesCluster`. They use the
 * host's network (Linux), so that servers, routers and clients reach each other under the same addresses, which servers
 * report to clients. testcontainers also removes them when this process dies.
 * @param image for example `mongo:6.0`
 */
export async function startContainersCluster(options: TestClusterOptions, image: string): Promise<TestCluster> {
  const { name, oplogBytes, withUsers, folder } = options;
  if (options.tls !== undefined) throw new Error('Only clusters of binaries have TLS: containers lack its files.');
  const { GenericContainer, Wait } = await import('testcontainers');
  const containers: StartedTestContainer[] = [];
  const key = withUsers === true ? randomBytes(96).toString('base64') : undefined;
  const launch: Launch = async (server, program, args) => {
    const port = await freePort();
    const command = [
      program,
      ...args,
      ...(program === 'mongod' ? storageArguments(dataPath, oplogBytes) : []),
      ...(key === undefined ? [] : ['--keyFile', keyPath]),
      '--port',
      String(port),
      '--bind_ip',
      '127.0.0.1',
    ];
    const log = createWriteStream(folder.file(`${name}-${server}.log`));
    const container = await new GenericContainer(image)
      .withNetworkMode('host')
      // As root, without the image's own start: a server refuses a key file that others may read, or cannot read it.
      .withUser('root')
      .withEntrypoint(key === undefined ? ['env'] : ['sh', '-c', withKey, 'convoy', key])
      .withCommand(command)
      // The data is discarded, and a memory disk keeps the host's disk out of the measurements.
      .withTmpFs({ [dataPath]: 'rw' })
      .withLogConsumer((stream) => stream.pipe(log))
      .withWaitStrategy(Wait.forLogMessage(waitingForConnections))
      .withStartupTimeout(readyWithin_ms)
      .start()
      .catch((cause: unknown) => {
        throw new Error(
          `No container of MONGO_IMAGE (${image}) could be started. Start Docker, or set DOCKER_HOST; where Docker ` +
            `cannot fetch images, set TESTCONTAINERS_RYUK_DISABLED=true too. It says: ${String(cause)}`,
          { cause },
        );
      });
    containers.push(container);
    return `127.0.0.1:${port}`;
  };
  const close = async () => {
    await Promise.all(containers.map((container) => container.stop({ timeout: 0 })));
  };
  try {
    const described = await startServers(launch, options);
    return {
      ...described,
      backend: 'containers',
      version: await serverVersion(described.connectionStringOf('root')),
      pids: [],
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
