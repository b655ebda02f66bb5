import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { serversOf } from '@convoy/testbed/cluster/servers-of';
import { expect, it } from 'vitest';
import { readBalancer } from '../../../src/cluster/balancer.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { adviseBalancers } from '../../../src/preflight/check-clusters.js';
import { atStep } from '../at-step.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { EmbeddedMigration, patience } from '../verify/embedded-migration.js';

const count = 60;
const [release] = await backendVersion(undefined, 'source');
/** Simulated servers do not hang in the middle of these commands. */
const isSkipped = release < 8 || serversOf('source').kind === 'simulator';
/** Looks at the balancer while the start waits; one that does not wait is done after the first. */
const looks = 20;

const duringResharding = ['config', 'reshardingPauseCoordinatorBeforeBlockingWrites'] as const;

it.skipIf(isSkipped).each([
  [
    'a chunk of shop.orders',
    ['shard0', 'moveChunkHangAtStep4'],
    { moveChunk: 'shop.orders', find: { _id: 1 }, to: 'shard1' },
  ],
  ['movePrimary of store', ['shard0', 'hangBeforeCloningData'], { movePrimary: 'store', to: 'shard1' }],
  ['moveCollection of shop.plain', duringResharding, { moveCollection: 'shop.plain', toShard: 'shard1' }],
  [
    'reshardCollection of shop.orders',
    duringResharding,
    { reshardCollection: 'shop.orders', key: { _id: 1 }, forceRedistribution: true, numInitialChunks: 2 },
  ],
  ['unshardCollection of shop.orders', duringResharding, { unshardCollection: 'shop.orders', toShard: 'shard1' }],
] as const)(
  'a start waits until a move by hand that is under way has ended, which a check names: %s (real servers from 8.0)',
  { timeout: patience.timeout * 2 },
  async (description, [server, failPoint], move) => {
    await using migration = await EmbeddedMigration.open({ sourceAccess: 'direct' });
    const { source, destination } = migration;
    await migration.moveQuickly();
    const admin = source.db('admin');
    await admin.command({ balancerStart: 1 });
    for (const database of ['shop', 'store']) await admin.command({ enableSharding: database, primaryShard: 'shard0' });
    await admin.command({ shardCollection: 'shop.orders', key: { _id: 1 } });
    await admin.command({ split: 'shop.orders', middle: { _id: 0 } });
    for (const [database, name] of [
      ['shop', 'orders'],
      ['shop', 'plain'],
      ['store', 'things'],
    ] as const)
      await source
        .db(database)
        .collection<{ _id: number }>(name)
        .insertMany(Array.from({ length: count }, (_, _id) => ({ _id })));

    await using hanging = await migration.serverOfSource(server);
    const set = (mode: string) => hanging.db('admin').command({ configureFailPoint: failPoint, mode });
    const { count: entered } = await set('alwaysOn');
    const moved = admin.command(move);
    moved.catch(() => undefined);
    await hanging
      .db('admin')
      .command({ waitForFailPoint: failPoint, timesEntered: Number(entered) + 1, maxTimeMS: 60_000 });

    const order: string[] = [];
    void atStep('balancersStopped', () => order.push('balancers stopped'));
    await migration.start();
    const mode = async () => (await admin.command({ balancerStatus: 1 }))['mode'] as string;
    await expect.poll(mode, patience).toBe('off');
    const { signal } = new AbortController();
    const clusters = [];
    for (const [name, { options }] of [
      ['cluster0', source],
      ['cluster1', destination],
    ] as const)
      clusters.push(
        await openCluster(name, `mongodb://${options.hosts.map(String).join()}`, { direct: false, signal }),
      );
    const [cluster0, cluster1] = clusters;
    if (cluster0 === undefined || cluster1 === undefined) throw new Error('there are two clusters');
    const request = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
    const advice = await adviseBalancers(cluster0, cluster1, request, signal);
    for (let look = 0; look < looks; look += 1)
      expect(await readBalancer(cluster0, { signal })).toMatchObject({ busy: true, moves: [{ description }] });
    await Promise.all(clusters.map((cluster) => cluster.close()));
    expect(advice).toContain(`Under way on cluster0: ${description}. The start waits until that has ended.`);

    order.push('released');
    await set('off');
    await moved;
    await migration.untilCanCommit();
    expect(order).toEqual(['released', 'balancers stopped']);
    expect(await migration.end()).toBe('COMMITTED');
    const sides = { cluster0: { client: source }, cluster1: { client: destination } };
    for (const database of ['shop', 'store']) await expectEqualDatabases(sides, database);
  },
);
