import type { Db, Document, MongoClient } from 'mongodb';

/** DDL changes by what they do. Each runs on the database `shop` as created below. */
export interface DdlEntry {
  what: string;
  run(shop: Db, client: MongoClient): Promise<unknown>;
  /** First release of the source that supports it. */
  since?: number;
}

const documents = (count: number): Document[] =>
  Array.from({ length: count }, (_, _id) => ({ _id, k: _id % 7, n: _id, text: 'x'.repeat(200) }));

/** Collections that the changes affect: `p…` unsharded, `s…` sharded by hashed `_id`, `r…` by ranges of `k`. */
export async function makeCollections(client: MongoClient): Promise<void> {
  const shop = client.db('shop');
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  for (const name of ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7']) await shop.collection(name).insertMany(documents(300));
  for (const name of ['s1', 's2', 's3', 's4', 's5']) {
    await admin.command({ shardCollection: `shop.${name}`, key: { _id: 'hashed' } });
    await shop.collection(name).insertMany(documents(600));
  }
  await shop.createCollection('v1', { viewOn: 'p1', pipeline: [] });
  await shop.createCollection('v2', { viewOn: 'p1', pipeline: [] });
  await shop.collection('p7').createIndexes([
    { key: { k: 1 }, name: 'k_1' },
    { key: { n: 1 }, name: 'ttl_1', expireAfterSeconds: 100_000 },
  ]);
  const gone = client.db('gone');
  await gone.collection('one').insertMany(documents(50));
  await gone.collection('two').insertMany(documents(50));
}

export const structureChanges: readonly DdlEntry[] = [
  { what: 'a collection is dropped', run: (shop) => shop.collection('p1').drop() },
  { what: 'a sharded collection is dropped', run: (shop) => shop.collection('s1').drop() },
  {
    what: 'a collection is dropped and recreated',
    run: async (shop) => {
      await shop.collection('p2').drop();
      await shop.collection('p2').insertMany(documents(20));
    },
  },
  { what: 'a collection is renamed', run: (shop) => shop.collection('p3').rename('p3 renamed') },
  { what: 'a sharded collection is renamed', run: (shop) => shop.collection('s2').rename('s2 renamed') },
  {
    what: 'a collection is renamed over another',
    run: (shop) => shop.collection('p4').rename('p5', { dropTarget: true }),
  },
  {
    what: 'a collection is filled under another name and replaces one',
    run: async (shop) => {
      await shop.collection('p2 new').insertMany(documents(40));
      await shop.collection('p2 new').rename('p2', { dropTarget: true });
    },
  },
  {
    what: 'two collections exchange their names',
    run: async (shop) => {
      await shop.collection('s3').rename('between');
      await shop.collection('s4').rename('s3');
      await shop.collection('between').rename('s4');
    },
  },
  {
    what: 'an empty collection is created',
    run: (shop) => shop.createCollection('empty', { validator: { n: { $gte: 0 } } }),
  },
  {
    what: 'a collection is created by its first document',
    run: (shop) => shop.collection('implicit').insertMany(documents(30)),
  },
  {
    what: 'a sharded collection is created',
    run: async (shop, client) => {
      await client.db('admin').command({ shardCollection: 'shop.new sharded', key: { _id: 'hashed' } });
      await shop.collection('new sharded').insertMany(documents(100));
    },
  },
  {
    what: 'a collection with documents is sharded',
    run: async (shop, client) => {
      await shop.collection('p6').createIndexes([{ key: { k: 1 }, name: 'k_1' }]);
      await client.db('admin').command({ shardCollection: 'shop.p6', key: { k: 1 } });
    },
  },
  {
    what: 'the result of an aggregation replaces a collection',
    run: (shop) =>
      shop
        .collection('s5')
        .aggregate([{ $match: { n: { $lt: 40 } } }, { $out: 'out' }])
        .toArray(),
  },
  { what: 'a database is dropped', run: (_shop, client) => client.db('gone').dropDatabase() },
];

export const shapeChanges: readonly DdlEntry[] = [
  {
    what: 'an index is built',
    run: (shop) => shop.collection('p7').createIndexes([{ key: { text: 1, n: -1 }, name: 'text_1_n_-1' }]),
  },
  {
    what: 'a unique index is built',
    run: (shop) => shop.collection('p7').createIndexes([{ key: { n: 1, k: 1 }, name: 'unique_1', unique: true }]),
  },
  { what: 'an index is dropped', run: (shop) => shop.collection('p7').dropIndex('k_1') },
  {
    what: 'a TTL changes',
    run: (shop) => shop.command({ collMod: 'p7', index: { name: 'ttl_1', expireAfterSeconds: 200_000 } }),
  },
  {
    what: 'an index is hidden',
    run: (shop) => shop.command({ collMod: 'p7', index: { name: 'ttl_1', hidden: true } }),
  },
  {
    what: 'a validator is set',
    run: (shop) =>
      shop.command({
        collMod: 'p7',
        validator: { n: { $type: 'int' } },
        validationLevel: 'moderate',
        validationAction: 'warn',
      }),
  },
  {
    what: 'a view is made',
    run: (shop) => shop.createCollection('v3', { viewOn: 'v1', pipeline: [{ $match: { n: 1 } }] }),
  },
  {
    what: 'a view changes',
    run: (shop) => shop.command({ collMod: 'v1', viewOn: 'p7', pipeline: [{ $project: { n: 1 } }] }),
  },
  { what: 'a view is dropped', run: (shop) => shop.collection('v2').drop() },
];
