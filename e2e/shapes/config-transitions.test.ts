import { expect, test } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { patience_ms } from '../../test/patience.js';
import { Clusters, defaultStart, untilCanCommit } from '../fleet.js';
import { needs } from '../requirements.js';
import { countOn, lacksShape, orders, real80, twoShards } from './real-shapes.js';

const often = { catalogInterval_seconds: 1 } as const;

/** Waits until the migration has failed by a name, with a text. */
async function untilFailed(client: ContractClient, error: string, says: RegExp): Promise<void> {
  const failure = () =>
    client.progress().then(
      () => null,
      (thrown: unknown) => thrown,
    );
  await expect
    .poll(failure, { timeout: patience_ms() })
    .toMatchObject({ error, errorDescription: expect.stringMatching(says) as unknown });
}

/** A database and a sharded collection that come while the migration runs. */
async function addLate({ clients }: Clusters, primaryShard?: string): Promise<void> {
  const admin = clients.source.db('admin');
  await admin.command({ enableSharding: 'late', ...(primaryShard !== undefined && { primaryShard }) });
  await clients.source.db('late').collection<{ n: number }>('items').insertOne({ n: 1 });
  await admin.command({ shardCollection: 'late.spread', key: { _id: 'hashed' } });
  await clients.source
    .db('late')
    .collection<{ n: number }>('spread')
    .insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
}

test(
  'the config server of a source that is read through its routers becomes a shard, and its data is migrated ' +
    '(real servers from 8.0)',
  needs(real80),
  async () => {
    await using clusters = await Clusters.loaded(twoShards, orders);
    await using instance = await clusters.startLoneInstanceHere({ ...often, sourceAccess: 'router' });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await clusters.clients.source.db('admin').command({ transitionFromDedicatedConfigServer: 1 });
    await addLate(clusters, 'config');
    await clusters.cutOver(instance.client);
  },
);

test.for(['source', 'destination'] as const)(
  'the config server of the %s becomes a shard, which ends a migration by name (real servers from 8.0)',
  async (side, { skip }) => {
    skip(lacksShape(side));
    await using clusters = await Clusters.little(twoShards);
    await using instance = await clusters.startLoneInstanceHere({ ...often, sourceAccess: 'direct' });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await clusters.clients[side].db('admin').command({ transitionFromDedicatedConfigServer: 1 });
    const cluster = side === 'source' ? 'cluster0' : 'cluster1';
    await untilFailed(instance.client, 'topologyChanged', new RegExp(`shards joined ${cluster}: config`));
  },
);

test.each(['direct', 'router'])(
  'the config server of the source is a shard without data and becomes a dedicated one, which ends a migration by ' +
    'name; access %s (real servers from 8.0)',
  needs(real80),
  async (sourceAccess) => {
    await using clusters = await Clusters.start({ ...twoShards, configShards: ['source'] });
    const admin = clusters.clients.source.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
    await clusters.clients.source.db('shop').collection('orders').insertOne({ n: 1 });
    await using instance = await clusters.startLoneInstanceHere({ ...often, sourceAccess });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    const transition = async (): Promise<unknown> =>
      (await admin.command({ transitionToDedicatedConfigServer: 1 }))['state'];
    await expect.poll(transition, { timeout: patience_ms() }).toBe('completed');
    await untilFailed(instance.client, 'topologyChanged', /shards left cluster0: config/);
  },
);

test.for(['source', 'destination'] as const)(
  'the config server of the %s is a shard with data and begins to become a dedicated one: the migration ends first ' +
    '(real servers from 8.0)',
  async (side, { skip }) => {
    skip(lacksShape(side));
    await using clusters = await Clusters.loaded({ ...twoShards, configShards: [side] }, orders);
    await using instance = await clusters.startLoneInstanceHere({ ...often, sourceAccess: 'direct' });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    expect(await countOn(clusters[side], 'config', 'e2e.orders')).toBeGreaterThan(0);
    const admin = clusters.clients[side].db('admin');
    expect(await admin.command({ transitionToDedicatedConfigServer: 1 })).toMatchObject({ state: 'started' });
    await addLate(clusters);
    await clusters.cutOver(instance.client);
    expect(await admin.command({ transitionToDedicatedConfigServer: 1 })).toMatchObject({ state: 'ongoing' });
  },
);
