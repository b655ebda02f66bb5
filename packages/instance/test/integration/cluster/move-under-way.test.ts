import { type Document, MongoClient } from 'mongodb';
import { afterEach, expect, test } from 'vitest';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { readBalancer, stopBalancer } from '../../../src/cluster/balancer.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { isAtLeast } from '../../../src/cluster/topology.js';

const testLimit_ms = 120_000;
/** Moves hang here before the recipient has anything. */
const hang = 'moveChunkHangAtStep4';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function connect(connectionString: string): Promise<(command: Document) => Promise<Document>> {
  const client = await MongoClient.connect(connectionString, { directConnection: true });
  closers.push(() => client.close());
  return (command) => client.db('admin').command(command);
}

test.for([
  ['moveRange', { moveRange: 'db.coll', min: { _id: 0 }, toShard: 'shard1' }],
  ['moveChunk', { moveChunk: 'db.coll', find: { _id: 1 }, to: 'shard1' }],
] as const)(
  'a move by hand through %s is noticed while it is under way, and no longer (servers from 8.0)',
  { timeout: testLimit_ms },
  async ([name, move], { skip }) => {
    const signal = AbortSignal.timeout(testLimit_ms);
    const folder = ScratchFolder.create('move-under-way');
    closers.push(() => {
      folder[Symbol.dispose]();
      return Promise.resolve();
    });
    const servers = await startTestCluster({
      name: 'cluster0',
      topology: { shards: 2 },
      release: '8.0',
      isHere: true,
      folder,
    });
    closers.push(() => servers.close());
    skip(!isAtLeast(servers.version, 8, 0), 'older servers note moves in config.migrations');
    skip(name === 'moveRange' && servers.backend === 'simulator', 'not simulated');
    const [router, donor] = await Promise.all([
      connect(servers.connectionString),
      connect(servers.shardConnectionString('shard0')),
    ]);
    await router({ enableSharding: 'db', primaryShard: 'shard0' });
    await router({ shardCollection: 'db.coll', key: { _id: 1 } });
    await router({ split: 'db.coll', middle: { _id: 0 } });
    const cluster = await openCluster('cluster0', servers.connectionString, { direct: false, signal });
    closers.push(() => cluster.close());
    await stopBalancer(cluster, { signal, poll_ms: 10 });
    expect(await readBalancer(cluster, { signal })).toMatchObject({ enabled: false, busy: false, moves: [] });
    const { count } = await donor({ configureFailPoint: hang, mode: 'alwaysOn' });
    const moved = router(move);
    // A test that fails before ends the cluster under it.
    moved.catch(() => undefined);
    await donor({ waitForFailPoint: hang, timesEntered: Number(count) + 1, maxTimeMS: 60_000 });
    expect(await readBalancer(cluster, { signal })).toMatchObject({
      enabled: false,
      busy: true,
      moves: [{ kind: 'chunk', description: 'a chunk of db.coll' }],
    });
    await donor({ configureFailPoint: hang, mode: 'off' });
    await moved;
    await expect
      .poll(() => readBalancer(cluster, { signal }))
      .toMatchObject({ enabled: false, busy: false, moves: [] });
  },
);
