import type { Document, IndexDescription } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { Fixture } from './fixture.js';
import { canGoBack } from './releases.js';
import { accepts, refuses, refusesThenAccepts, startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', { shards: 2 });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

/** A start body that shards `shop.orders` by a key. */
function sharded(key: Document[], createSupportingIndexes = false, more: Document = {}): Document {
  const shardingEntries = [{ database: 'shop', collection: 'orders', shardCollection: { key } }];
  return startBody({ sharding: { createSupportingIndexes, shardingEntries }, ...more });
}

const unsharded = startBody({ sharding: { shardingEntries: [] } });

/** Creates `shop.orders` on the source with indexes; one document. */
async function orders(indexes: Document[], options: Document = {}): Promise<void> {
  const collection = await fixture.cluster0.client.db('shop').createCollection('orders', options);
  await collection.insertOne({ a: 1, b: 1, c: 'text' });
  if (indexes.length > 0) await collection.createIndexes(indexes as IndexDescription[]);
}

describe('sharding belongs to a replica set that moves to a sharded cluster', () => {
  it('refuses a start without sharding', async () => {
    await orders([]);
    await refusesThenAccepts(
      fixture,
      startBody(),
      { status: 422, error: 'shardingRequired', says: /shardingEntries/ },
      unsharded,
    );
  });

  it.runIf(canGoBack)('refuses sharding from a sharded cluster to a replica set', async () => {
    const back = startBody({ source: 'cluster1', destination: 'cluster0' });
    const sharding = { shardingEntries: [] };
    await refusesThenAccepts(fixture, { ...back, sharding }, { status: 422, error: 'shardingNotAllowed' }, back);
  });

  it('refuses reversible', async () => {
    await using newer = await Fixture.open('replicaSet', { shards: 1 }, { cluster0: '8.0', cluster1: '8.0' });
    await newer.cluster0.client.db('shop').collection('orders').insertOne({});
    const wrong = { ...unsharded, reversible: true, enableUserWriteBlocking: true };
    await refusesThenAccepts(newer, wrong, { status: 422, error: 'reversibleUnsupportedTopology' }, unsharded);
  });

  it('refuses sharding between two replica sets', async () => {
    await using sets = await Fixture.open('replicaSet', 'replicaSet');
    await sets.cluster0.client.db('shop').collection('orders').insertOne({});
    await refusesThenAccepts(sets, unsharded, { status: 422, error: 'shardingNotAllowed' }, startBody());
  });
});

describe('without createSupportingIndexes a shard key needs an index on the source', () => {
  const missing = { status: 422, error: 'shardingKeyIndexMissing', says: /shop\.orders/ } as const;

  it('refuses a key without one until createSupportingIndexes is true', async () => {
    await orders([]);
    await refusesThenAccepts(fixture, sharded([{ a: 1 }]), missing, sharded([{ a: 1 }], true));
  });

  it('accepts the key once the index was made on the source', async () => {
    await orders([]);
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, sharded([{ a: 'hashed' }]), missing);
    await fixture.cluster0.client
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { a: 'hashed' } }]);
    await accepts(instance, sharded([{ a: 'hashed' }]));
  });

  it.each([
    ['another field first', { key: { b: 1, a: 1 } }],
    ['another direction', { key: { a: -1 } }],
    ['another kind of key', { key: { a: 'hashed' } }],
    ['a sparse form', { key: { a: 1 }, sparse: true }],
    ['a partial form', { key: { a: 1 }, partialFilterExpression: { b: 1 } }],
  ])('does not take an index with %s for one of the key', async (_, index) => {
    await orders([index]);
    await refusesThenAccepts(fixture, sharded([{ a: 1 }]), missing, sharded([{ a: 1 }], true));
  });

  it('takes a longer index that begins with the key, and that on _id', async () => {
    await orders([{ key: { a: 1, b: -1 } }]);
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, sharded([{ b: 1 }]), missing);
    await accepts(instance, sharded([{ a: 1 }]));
  });

  it('takes the index that every collection has for a key on _id', async () => {
    await orders([]);
    await refusesThenAccepts(fixture, sharded([{ _id: 'hashed' }]), missing, sharded([{ _id: 1 }]));
  });
});

describe('an index of a shard key has the simple collation', () => {
  const french = { collation: { locale: 'fr' } };

  it('refuses a key whose only index has the collation of the collection', async () => {
    await orders([{ key: { c: 1 } }], french);
    const refusal = { status: 422, error: 'shardingKeyCollation', says: /shop\.orders/ } as const;
    await refusesThenAccepts(fixture, sharded([{ c: 1 }]), refusal, sharded([{ c: 1 }], true));
  });

  it('accepts the key once one of its indexes has the simple collation', async () => {
    await orders([{ key: { c: 1 } }], french);
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, sharded([{ c: 1 }]), { status: 422, error: 'shardingKeyCollation' });
    await fixture.cluster0.client
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { c: 1 }, name: 'simple', collation: { locale: 'simple' } }]);
    await accepts(instance, sharded([{ c: 1 }]));
  });
});

describe('unique indexes have to go with the shard key', () => {
  it.each([false, true])(
    'refuses a unique index that does not begin with the key, createSupportingIndexes %j',
    async (create) => {
      await orders([{ key: { a: 1 } }, { key: { b: 1 }, unique: true }]);
      const refusal = { status: 422, error: 'shardingIndexIncompatible', says: /b_1 of shop\.orders/ } as const;
      await refusesThenAccepts(fixture, sharded([{ a: 1 }], create), refusal, sharded([{ b: 1 }], create));
    },
  );

  it('accepts unique indexes that begin with the key or with _id', async () => {
    await orders([
      { key: { a: 1, b: 1 }, unique: true },
      { key: { _id: 1, b: 1 }, unique: true },
    ]);
    await using instance = await fixture.startInstance();
    await accepts(instance, sharded([{ a: 1 }]));
  });
});

describe('entries name collections that can be sharded', () => {
  const invalid = { status: 422, error: 'shardingEntryInvalid', says: /shop\.orders/ } as const;

  it('refuses a collection that the source does not have', async () => {
    await refusesThenAccepts(fixture, sharded([{ _id: 1 }]), invalid, unsharded);
  });

  it('refuses a view', async () => {
    await fixture.cluster0.client.db('shop').createCollection('orders', { viewOn: 'items', pipeline: [] });
    await refusesThenAccepts(fixture, sharded([{ _id: 1 }]), invalid, unsharded);
  });

  it('refuses a capped collection', async () => {
    await orders([], { capped: true, size: 4096 });
    await refusesThenAccepts(fixture, sharded([{ _id: 1 }]), invalid, unsharded);
  });

  it('refuses a collection that the filter leaves out', async () => {
    await orders([]);
    const excludeNamespaces = [{ database: 'shop', collections: ['orders'] }];
    await refusesThenAccepts(
      fixture,
      sharded([{ _id: 1 }], false, { excludeNamespaces }),
      invalid,
      sharded([{ _id: 1 }]),
    );
  });

  it.each([
    ['another number', [{ a: -1 }]],
    ['another word', [{ a: 'hash' }]],
    ['two fields in one element', [{ a: 1, b: 1 }]],
    ['a field twice', [{ a: 1 }, { a: 1 }]],
    ['two hashed fields', [{ a: 'hashed' }, { b: 'hashed' }]],
    ['no field', []],
  ])('refuses a key with %s', async (_, key) => {
    await orders([]);
    await using instance = await fixture.startInstance();
    const path = /sharding\.shardingEntries\[0\]\.shardCollection\.key/;
    await refuses(fixture, instance, sharded(key), { status: 400, error: 'invalidRequest', says: path });
    await accepts(instance, sharded([{ a: 1 }], true));
  });
});
