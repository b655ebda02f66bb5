import type { ReleaseSeries } from '@convoy/simulator';
import { describe, it } from 'vitest';
import { Fixture } from './fixture.js';
import { accepts, refuses, refusesThenAccepts, startBody } from './start-conditions.js';

const recentReleases = ['6.0', '7.0', '8.0'] as const;
const reversible = { reversible: true, enableUserWriteBlocking: true };

/** Two sharded clusters of two shards with one collection on the source. */
async function shopOf(source: ReleaseSeries, destination: ReleaseSeries, destinationShards = 2): Promise<Fixture> {
  const fixture = await Fixture.open(
    { shards: 2 },
    { shards: destinationShards },
    { cluster0: source, cluster1: destination },
  );
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  return fixture;
}

describe('releases of source and destination', () => {
  it.each([
    ['5.0', '6.0'],
    ['6.0', '6.0'],
    ['6.0', '8.0'],
    ['7.0', '7.0'],
    ['8.0', '8.0'],
  ] as const)('accepts a source of %s with a destination of %s', async (source, destination) => {
    await using fixture = await shopOf(source, destination);
    await using instance = await fixture.startInstance();
    await accepts(instance, startBody());
  });

  it.each([
    ['6.0', '5.0'],
    ['8.0', '7.0'],
  ] as const)(
    'refuses a source of %s with an older destination of %s, until they change places',
    async (source, destination) => {
      await using fixture = await shopOf(source, destination);
      const refusal = {
        status: 422,
        error: 'unsupportedServerVersion',
        says: new RegExp(`${destination}.*older.*${source}`),
      } as const;
      await using instance = await fixture.startInstance();
      await refuses(fixture, instance, startBody(), refusal);
      await fixture.cluster0.dropDatabases();
      await accepts(instance, startBody({ source: 'cluster1', destination: 'cluster0' }));
    },
  );

  it('refuses a source of 4.4, which cannot be read at one time', async () => {
    await using fixture = await shopOf('4.4', '6.0');
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), { status: 422, error: 'featureNotAvailable', says: /4\.4.*5\.0/ });
  });

  it('refuses a destination with a lower feature compatibility version, until it is raised', async () => {
    await using fixture = await shopOf('6.0', '6.0');
    const destination = fixture.cluster1.client.db('admin');
    await destination.command({ setFeatureCompatibilityVersion: '5.0' });
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), {
      status: 422,
      error: 'unsupportedServerVersion',
      says: /5\.0.*6\.0/,
    });
    await destination.command({ setFeatureCompatibilityVersion: '6.0' });
    await accepts(instance, startBody());
  });

  it('refuses a source whose feature compatibility version is that of 4.4', async () => {
    await using fixture = await shopOf('5.0', '5.0');
    const source = fixture.cluster0.client.db('admin');
    await source.command({ setFeatureCompatibilityVersion: '4.4' });
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), { status: 422, error: 'unsupportedServerVersion', says: /4\.4/ });
    await source.command({ setFeatureCompatibilityVersion: '5.0' });
    await accepts(instance, startBody());
  });
});

describe('options that need a source of 6.0, with one', () => {
  it.each(recentReleases)(
    'refuses reversible between clusters with different numbers of shards (%s)',
    async (release) => {
      await using fixture = await shopOf(release, release, 3);
      await refusesThenAccepts(
        fixture,
        startBody(reversible),
        { status: 422, error: 'reversibleNeedsEqualShardCounts' },
        startBody(),
      );
    },
  );

  it('refuses reversible from a replica set to a sharded cluster of 6.0', async () => {
    await using fixture = await Fixture.open('replicaSet', { shards: 2 }, { cluster0: '6.0', cluster1: '6.0' });
    await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    const sharding = { sharding: { shardingEntries: [] } };
    await refusesThenAccepts(
      fixture,
      startBody({ ...sharding, ...reversible }),
      { status: 422, error: 'reversibleUnsupportedTopology' },
      startBody(sharding),
    );
  });

  it.each([
    ['buildIndexes never', { ...reversible, buildIndexes: 'never' }, 'buildIndexesNeverWithReversible'],
    ['writes that are not blocked', { reversible: true }, 'reversibleNeedsWriteBlocking'],
  ] as const)('refuses reversible with %s although the source is of 6.0', async (_, options, error) => {
    await using fixture = await shopOf('6.0', '6.0');
    await refusesThenAccepts(fixture, startBody(options), { status: 422, error }, startBody());
  });

  it('refuses reversible and enableUserWriteBlocking by the source, whatever the destination is', async () => {
    await using fixture = await shopOf('5.0', '6.0');
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody({ enableUserWriteBlocking: true }), {
      status: 422,
      error: 'writeBlockingNeedsSource60',
    });
    await refuses(fixture, instance, startBody(reversible), { status: 422, error: 'reversibleNeedsSource60' });
    await accepts(instance, startBody());
  });

  it.each(recentReleases)('accepts enableUserWriteBlocking with a source of %s', async (release) => {
    await using fixture = await Fixture.open(
      { shards: 2 },
      { shards: 2 },
      { cluster0: release, cluster1: release, withUsers: true },
    );
    await using instance = await fixture.startInstance();
    await accepts(instance, startBody({ enableUserWriteBlocking: true }));
  });

  it('accepts reversible with a source of 6.0', async () => {
    await using fixture = await Fixture.open(
      { shards: 2 },
      { shards: 2 },
      { cluster0: '6.0', cluster1: '7.0', withUsers: true },
    );
    await using instance = await fixture.startInstance();
    await accepts(instance, startBody(reversible));
  });
});
