import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import { accepts, refuses, refusesThenAccepts, startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

beforeEach(async () => {
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection('orders').insertMany([{ n: 1 }, { n: 2 }]);
  await shop.collection('items').insertOne({});
});

afterEach(() => fixture.clear());

describe('start names two different configured clusters', () => {
  it('refuses a source that is the destination', async () => {
    const refusal = { status: 422, error: 'sourceEqualsDestination' } as const;
    await refusesThenAccepts(fixture, startBody({ destination: 'cluster0' }), refusal, startBody());
  });

  it('refuses two names that lead to the same cluster', async () => {
    const { connectionString } = fixture.cluster0;
    {
      await using instance = await fixture.startInstance({ cluster1: connectionString });
      await refuses(fixture, instance, startBody(), {
        status: 422,
        error: 'sourceEqualsDestination',
        says: /cluster0 and cluster1/,
      });
    }
    await using instance = await fixture.startInstance();
    await accepts(instance, startBody());
  });

  it.each([{ source: 'cluster2' }, { destination: 'production' }, { source: 'cluster1', destination: 'Cluster0' }])(
    'refuses a name that is not configured: %j',
    async (names) => {
      await refusesThenAccepts(
        fixture,
        startBody(names),
        { status: 422, error: 'clusterUnknown', says: /cluster0 and cluster1/ },
        startBody(),
      );
    },
  );
});

describe('options that need a source of 6.0', () => {
  it('refuses buildIndexes never together with reversible', async () => {
    const wrong = startBody({ buildIndexes: 'never', reversible: true, enableUserWriteBlocking: true });
    await refusesThenAccepts(
      fixture,
      wrong,
      { status: 422, error: 'buildIndexesNeverWithReversible' },
      startBody({ buildIndexes: 'never' }),
    );
  });

  it('refuses reversible without enableUserWriteBlocking', async () => {
    await refusesThenAccepts(
      fixture,
      startBody({ reversible: true }),
      { status: 422, error: 'reversibleNeedsWriteBlocking' },
      startBody({ reversible: false }),
    );
  });

  it('refuses enableUserWriteBlocking and reversible with a source older than 6.0', async () => {
    await using older = await Fixture.open({ shards: 1 }, { shards: 1 }, { cluster0: '5.0' });
    await older.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    await using instance = await older.startInstance();
    const blocking = { enableUserWriteBlocking: true };
    await refuses(older, instance, startBody(blocking), { status: 422, error: 'writeBlockingNeedsSource60' });
    const reversible = startBody({ ...blocking, reversible: true });
    await refuses(older, instance, reversible, { status: 422, error: 'reversibleNeedsSource60' });
    await accepts(instance, startBody({ enableUserWriteBlocking: false }));
  });
});

describe('options that this configuration does not have', () => {
  it('refuses sharding between two sharded clusters', async () => {
    const wrong = startBody({ sharding: { shardingEntries: [] } });
    await refusesThenAccepts(fixture, wrong, { status: 422, error: 'shardingNotAllowed' }, startBody());
  });
});

describe('filters', () => {
  it.each([
    ['a back-reference', { includeNamespaces: [{ databaseRegex: { pattern: '(a)\\1' } }] }],
    ['look-around', { excludeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: '^(?!orders)' } }] }],
    ['an unclosed group', { includeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: '(' } }] }],
    [
      'an option letter that the engine lacks',
      { includeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: 'o', options: 'x' } }] },
    ],
  ])('refuses a pattern with %s', async (_, filter) => {
    const corrected = startBody({
      includeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: '^orders$', options: 'i' } }],
    });
    await refusesThenAccepts(fixture, startBody(filter), { status: 422, error: 'filterPatternInvalid' }, corrected);
  });
});

describe('the destination', () => {
  it('refuses documents in a namespace to come until they are dropped', async () => {
    await fixture.cluster1.client.db('shop').collection('orders').insertOne({ secret: 'not to be shown' });
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), {
      status: 422,
      error: 'destinationNotEmpty',
      says: /^(?!.*secret).*shop\.orders/,
    });
    await fixture.cluster1.client.db('shop').dropCollection('orders');
    await accepts(instance, startBody());
  });

  it('accepts documents in databases that the filter leaves out', async () => {
    await fixture.cluster1.client.db('other').collection('c').insertOne({});
    const corrected = startBody({ includeNamespaces: [{ database: 'shop' }] });
    await refusesThenAccepts(
      fixture,
      startBody(),
      { status: 422, error: 'destinationNotEmpty', says: /other\.c/ },
      corrected,
    );
    expect(await fixture.cluster1.client.db('other').collection('c').countDocuments()).toBe(1);
  });

  it('refuses a collection of the same name in another form', async () => {
    await fixture.cluster1.client.db('shop').createCollection('orders', { capped: true, size: 4096 });
    const corrected = startBody({ excludeNamespaces: [{ database: 'shop', collections: ['orders'] }] });
    await refusesThenAccepts(
      fixture,
      startBody(),
      { status: 422, error: 'destinationNotEmpty', says: /shop\.orders/ },
      corrected,
    );
  });

  it('takes over an empty collection like that of the source', async () => {
    await fixture.cluster1.client.db('shop').createCollection('orders');
    await using instance = await fixture.startInstance();
    await accepts(instance, startBody());
  });
});
