import type { ReleaseSeries } from '@convoy/simulator/node/server-version';
import { describe, it } from 'vitest';
import { Scene } from './scene.js';
import { accepts, refuses, refusesThenAccepts, startBody } from './start-conditions.js';

const recentReleases = ['6.0', '7.0', '8.0'] as const;
const reversible = { reversible: true, enableUserWriteBlocking: true };

/** Two sharded clusters of two shards with one collection on the source. */
async function shopOf(source: ReleaseSeries, destination: ReleaseSeries, destinationShards = 2): Promise<Scene> {
  const scene = await Scene.open({ shards: 2 }, { shards: destinationShards }, { cluster0: source, cluster1: destination });
  await scene.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  return scene;
}

describe('releases of source and destination', () => {
  it.each([
    ['5.0', '6.0'],
    ['6.0', '6.0'],
    ['6.0', '8.0'],
    ['7.0', '7.0'],
    ['8.0', '8.0'],
  ] as const)('accepts a source of %s with a destination of %s', async (source, destination) => {
    await using scene = await shopOf(source, destination);
    await using instance = await scene.startInstance();
    await accepts(instance, startBody());
  });

  it.each([
    ['6.0', '5.0'],
    ['8.0', '7.0'],
  ] as const)('refuses a source of %s with an older destination of %s, until they change places', async (source, destination) => {
    await using scene = await shopOf(source, destination);
    const refusal = { status: 422, error: 'unsupportedServerVersion', says: new RegExp(`${destination}.*older.*${source}`) } as const;
    await using instance = await scene.startInstance();
    await refuses(scene, instance, startBody(), refusal);
    await scene.cluster0.dropDatabases();
    await accepts(instance, startBody({ source: 'cluster1', destination: 'cluster0' }));
  });

  it('refuses a source of 4.4, which cannot be read at one time', async () => {
    await using scene = await shopOf('4.4', '6.0');
    await using instance = await scene.startInstance();
    await refuses(scene, instance, startBody(), { status: 422, error: 'featureNotAvailable', says: /4\.4.*5\.0/ });
  });

  it('refuses a destination whose feature compatibility version lies below that of the source, until it is raised', async () => {
    await using scene = await shopOf('6.0', '6.0');
    const destination = scene.cluster1.client.db('admin');
    await destination.command({ setFeatureCompatibilityVersion: '5.0' });
    await using instance = await scene.startInstance();
    await refuses(scene, instance, startBody(), { status: 422, error: 'unsupportedServerVersion', says: /5\.0.*6\.0/ });
    await destination.command({ setFeatureCompatibilityVersion: '6.0' });
    await accepts(instance, startBody());
  });

  it('refuses a source whose feature compatibility version is that of 4.4', async () => {
    await using scene = await shopOf('5.0', '5.0');
    const source = scene.cluster0.client.db('admin');
    await source.command({ setFeatureCompatibilityVersion: '4.4' });
    await using instance = await scene.startInstance();
    await refuses(scene, instance, startBody(), { status: 422, error: 'unsupportedServerVersion', says: /4\.4/ });
    await source.command({ setFeatureCompatibilityVersion: '5.0' });
    await accepts(instance, startBody());
  });
});

describe('options that need a source of 6.0, with one', () => {
  it.each(recentReleases)('refuses reversible between clusters with different numbers of shards (%s)', async (release) => {
    await using scene = await shopOf(release, release, 3);
    await refusesThenAccepts(scene, startBody(reversible), { status: 422, error: 'reversibleNeedsEqualShardCounts' }, startBody());
  });

  it('refuses reversible from a replica set to a sharded cluster of 6.0', async () => {
    await using scene = await Scene.open('replicaSet', { shards: 2 }, { cluster0: '6.0', cluster1: '6.0' });
    await scene.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    const sharding = { sharding: { shardingEntries: [] } };
    await refusesThenAccepts(scene, startBody({ ...sharding, ...reversible }), { status: 422, error: 'reversibleUnsupportedTopology' }, startBody(sharding));
  });

  it.each([
    ['buildIndexes never', { ...reversible, buildIndexes: 'never' }, 'buildIndexesNeverWithReversible'],
    ['writes that are not blocked', { reversible: true }, 'reversibleNeedsWriteBlocking'],
  ] as const)('refuses reversible with %s although the source is of 6.0', async (_, options, error) => {
    await using scene = await shopOf('6.0', '6.0');
    await refusesThenAccepts(scene, startBody(options), { status: 422, error }, startBody());
  });

  it('refuses reversible and enableUserWriteBlocking by the source, whatever the destination is', async () => {
    await using scene = await shopOf('5.0', '6.0');
    await using instance = await scene.startInstance();
    await refuses(scene, instance, startBody({ enableUserWriteBlocking: true }), { status: 422, error: 'writeBlockingNeedsSource60' });
    await refuses(scene, instance, startBody(reversible), { status: 422, error: 'reversibleNeedsSource60' });
    await accepts(instance, startBody());
  });

  it.each(recentReleases)('accepts enableUserWriteBlocking with a source of %s', async (release) => {
    await using scene = await Scene.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release, withUsers: true });
    await using instance = await scene.startInstance();
    await accepts(instance, startBody({ enableUserWriteBlocking: true }));
  });

  it('accepts reversible with a source of 6.0', async () => {
    await using scene = await Scene.open({ shards: 2 }, { shards: 2 }, { cluster0: '6.0', cluster1: '7.0', withUsers: true });
    await using instance = await scene.startInstance();
    await accepts(instance, startBody(reversible));
  });
});
