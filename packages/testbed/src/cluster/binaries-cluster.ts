import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../process/child.js';
import { freePort } from '../process/free-port.js';
import { type Launch, startServers, storageArguments, waitingForConnections } from './real-servers.js';
import { tlsArguments } from './server-tls.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

const readyWithin_ms = 60_000;

/** A cluster of `mongod` and `mongos` processes from `binaries`, one member per replica set. */
export async function startBinariesCluster(options: TestClusterOptions, binaries: string): Promise<TestCluster> {
  const { name, oplogBytes, withUsers = false, tls, folder } = options;
  const children = new Map<string, Child>();
  const security = [
    ...(withUsers ? ['--keyFile', keyFile(folder.file(`${name}-key`))] : []),
    ...(tls === undefined ? [] : tlsArguments(tls)),
  ];
  const launch: Launch = async (server, program, args) => {
    const port = await freePort();
    const dataPath = folder.file(`${name}-${server}`);
    if (program === 'mongod') mkdirSync(dataPath);
    const child = await Child.start({
      name: `${name} ${server}`,
      command: join(binaries, program),
      args: [
        ...args,
        ...security,
        ...(program === 'mongod' ? storageArguments(dataPath, oplogBytes) : []),
        '--port',
        String(port),
        '--bind_ip',
        '127.0.0.1',
      ],
      ready: waitingForConnections,
      readyWithin_ms,
      logFile: folder.file(`${name}-${server}.log`),
    });
    const host = `127.0.0.1:${port}`;
    children.set(host, child);
    return host;
  };
  // SIGKILL instead of a shutdown: the data is discarded.
  const close = async () => {
    await Promise.all([...children.values()].map((child) => child.kill()));
  };
  try {
    const described = await startServers(launch, options);
    return {
      ...described,
      backend: 'binaries',
      version: await serverVersion(described.connectionStringOf('root')),
      pids: [...children.values()].map((child) => child.pid),
      signal: (host, signal) => {
        const pid = children.get(host)?.pid;
        if (pid === undefined) throw new Error(`${name} has no server at ${host}.`);
        process.kill(pid, signal);
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Authenticates the servers among each other and enables access control. */
function keyFile(path: string): string {
  writeFileSync(path, randomBytes(96).toString('base64'), { mode: 0o600 });
  return path;
}
