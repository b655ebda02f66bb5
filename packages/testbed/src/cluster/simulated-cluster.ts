import { createRequire } from 'node:module';
import { z } from 'zod';
import { Child } from '../process/child.js';
import { addresses, directTo, loginAs, makeUsers, membersOf } from './access-control.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

const processScript = createRequire(import.meta.url).resolve('@convoy/simulator/internal/process');

/** A simulated cluster listens within a second; a loaded host may need longer. */
const readyWithin_ms = 30_000;

/** Output of the process once it listens: `host:port` of its servers. */
const readyLine = z.union([
  z.object({ router: z.string(), shards: z.array(z.string()) }),
  z.object({ replicaSet: z.string(), setName: z.string() }),
]);

/** A simulated cluster in one child process. */
export async function startSimulatedCluster({
  configShard,
  tls,
  name,
  topology,
  oplogBytes,
  release,
  withUsers = false,
  folder,
}: TestClusterOptions): Promise<TestCluster> {
  if (tls !== undefined) throw new Error('Simulated servers have no TLS.');
  if (configShard === true) throw new Error('A simulated cluster in a process of its own has no config shard.');
  const size = topology === 'replicaSet' ? ['--replica-set'] : ['--shards', String(topology.shards)];
  const oplog = oplogBytes === undefined ? [] : ['--oplog-bytes', String(oplogBytes)];
  const model = [...(release === undefined ? [] : ['--version', release]), ...(withUsers ? ['--auth'] : [])];
  const child = await Child.start({
    name: `${name} (simulator)`,
    command: process.execPath,
    args: [processScript, ...size, ...oplog, ...model, '--port', '0'],
    ready: /^\{"(router|replicaSet)":.*\}$/,
    readyWithin_ms,
    logFile: folder.file(`${name}.log`),
  });
  const listening = readyLine.parse(JSON.parse(child.ready[0]));
  const hosts =
    'router' in listening
      ? new Map(listening.shards.map((host, index) => [`shard${index}`, host]))
      : new Map([[listening.setName, listening.replicaSet]]);
  const bare =
    'router' in listening
      ? `mongodb://${listening.router}/`
      : `mongodb://${listening.replicaSet}/?replicaSet=${listening.setName}`;
  if (withUsers)
    await Promise.all([
      makeUsers(bare, false),
      ...('router' in listening ? [...hosts.keys()].map((id) => makeUsers(directTo(hosts, id), true)) : []),
    ]);
  const reached = addresses(bare, withUsers);
  const close = async () => {
    await child.stop();
  };
  return {
    kind: topology === 'replicaSet' ? 'replicaSet' : 'sharded',
    backend: 'simulator',
    version: await serverVersion(reached.connectionStringOf('root')),
    ...reached,
    shardIds: [...hosts.keys()],
    members: membersOf(hosts),
    pids: [child.pid],
    shardConnectionString: (id) => (withUsers ? loginAs(directTo(hosts, id), 'root') : directTo(hosts, id)),
    close,
    [Symbol.asyncDispose]: close,
  };
}
