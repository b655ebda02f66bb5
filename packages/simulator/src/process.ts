import { parseArgs } from 'node:util';
import { type Cluster, startCluster } from './cluster/cluster.js';
import { type ReplicaSet, startReplicaSet } from './cluster/replica-set.js';

/**
 * Runs a simulated cluster as a process of its own. Prints one JSON line when it is ready and ends on
 * SIGTERM, SIGINT, or with `--watch-stdin` when the pipe to its parent closes.
 */
const { values } = parseArgs({
  options: {
    shards: { type: 'string', default: '2' },
    routers: { type: 'string', default: '1' },
    port: { type: 'string', default: '0' },
    'oplog-bytes': { type: 'string' },
    'snapshot-window-seconds': { type: 'string' },
    'replica-set': { type: 'boolean', default: false },
    'watch-stdin': { type: 'boolean', default: false },
  },
});

const limits = {
  ...(values['oplog-bytes'] === undefined ? {} : { oplogBytesMax: Number(values['oplog-bytes']) }),
  ...(values['snapshot-window-seconds'] === undefined ? {} : { snapshotWindowSeconds: Number(values['snapshot-window-seconds']) }),
};

const running = await start();
process.on('SIGTERM', () => void stop());
process.on('SIGINT', () => void stop());
if (values['watch-stdin']) {
  process.stdin.on('end', () => void stop());
  process.stdin.on('close', () => void stop());
  process.stdin.resume();
}

async function start(): Promise<Cluster | ReplicaSet> {
  if (values['replica-set']) {
    const set = await startReplicaSet({ port: Number(values.port), ...limits });
    process.stdout.write(`${JSON.stringify({ replicaSet: set.host, setName: set.member.identity.setName })}\n`);
    return set;
  }
  const cluster = await startCluster({ shards: Number(values.shards), routers: Number(values.routers), basePort: Number(values.port), ...limits });
  const { router, routers, config, shards } = cluster;
  process.stdout.write(`${JSON.stringify({ router, routers, config, shards })}\n`);
  return cluster;
}

async function stop(): Promise<void> {
  await running.close();
  process.exit(0);
}
