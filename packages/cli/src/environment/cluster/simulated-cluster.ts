import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { Child } from '../process/child.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

const processScript = fileURLToPath(new URL('../../../../simulator/dist/process.js', import.meta.url));

/** A simulated cluster listens within a second; a machine under load may need longer. */
const readyWithin_ms = 30_000;

const readyLine = z.object({ router: z.string(), shards: z.array(z.union([z.string(), z.object({ id: z.string(), host: z.string() })])) });

/** A simulated cluster in one child process. */
export async function startSimulatedCluster({ name, topology, folder }: TestClusterOptions): Promise<TestCluster> {
  const size = topology === 'replicaSet' ? ['--replica-set'] : ['--shards', String(topology.shards)];
  const child = await Child.start({
    name: `${name} (simulator)`,
    command: process.execPath,
    args: [processScript, ...size, '--port', '0'],
    ready: /^\{"router":.*\}$/,
    readyWithin_ms,
    logFile: folder.file(`${name}.log`),
  });
  const { router, shards } = readyLine.parse(JSON.parse(child.ready[0]));
  const hosts = new Map(shards.map((shard, index) => (typeof shard === 'string' ? [`shard${index}`, shard] : [shard.id, shard.host])));
  const connectionString = topology === 'replicaSet' ? `mongodb://${router}/?replicaSet=${[...hosts.keys()][0] ?? ''}` : `mongodb://${router}/`;
  const close = async () => {
    await child.stop();
  };
  return {
    kind: topology === 'replicaSet' ? 'replicaSet' : 'sharded',
    backend: 'simulator',
    version: await serverVersion(connectionString),
    connectionString,
    shardIds: [...hosts.keys()],
    pids: [child.pid],
    shardConnectionString: (id) => directConnectionString(hosts, id),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function directConnectionString(hosts: ReadonlyMap<string, string>, id: string): string {
  const host = hosts.get(id);
  if (host === undefined) throw new Error(`There is no shard ${id}: there are ${[...hosts.keys()].join(', ')}.`);
  return `mongodb://${host}/?directConnection=true`;
}
