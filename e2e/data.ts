import {
  Binary,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
  type Document,
  type MongoClient,
} from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';

/** Documents of one insert command. */
const batchDocuments = 1_000;
/** Documents of the large collection where little is loaded. */
const littleOrders = 200;
/** Makes a document about 1 KB long. */
const padding = 'x'.repeat(900);

/** A document of the large collection. */
export interface Order {
  _id: number;
  customer?: number;
  total?: Double;
  lines?: { article: number; count: number }[];
  version?: number;
  padding?: string;
  tag?: string;
  replaced?: number;
}

/** The collection that tests watch being copied: sharded by hash where there are shards. */
export const largeCollection = { database: 'e2e', name: 'orders' } as const;

/**
 * Collections of every kind: sharded by range and by hash, unsharded with `_id`s of all types, capped, a view,
 * secondary, unique, sparse, partial and TTL indexes, a validator and a collation.
 * @param orders documents of the large collection
 */
export async function loadEverything(client: MongoClient, cluster: TestCluster, orders: number): Promise<void> {
  if (cluster.kind === 'sharded') await shard(client, cluster);
  const e2e = client.db('e2e');
  await insert(
    client,
    largeCollection.name,
    numbered(orders, (id) => order(id)),
  );
  await insert(
    client,
    'customers',
    numbered(700, (id) => ({
      _id: id,
      region: ['north', 'south', 'west'][id % 3],
      number: id,
      name: `customer ${id}`,
    })),
  );
  await insert(
    client,
    'mixed',
    mixedIds().map((_id, number) => ({ _id, number })),
  );
  await e2e.createCollection('log', { capped: true, size: 64 * 1024, max: 300 });
  await insert(
    client,
    'log',
    numbered(500, (line) => ({ line })),
  );
  await e2e.createCollection('strict', { validator: { value: { $gte: 0 } }, validationLevel: 'moderate' });
  await insert(client, 'strict', [{ value: 1 }, { value: 2 }]);
  await e2e.createCollection('names', { collation: { locale: 'en', strength: 2 } });
  await insert(client, 'names', [{ _id: 'Ada' }, { _id: 'Grace' }]);
  await e2e.createCollection('northern', { viewOn: 'customers', pipeline: [{ $match: { region: 'north' } }] });
  await createIndexes(client);
}

/** For tests to which the kinds of collections do not matter: the large collection with an index, and a small one. */
export async function loadLittle(client: MongoClient, cluster: TestCluster): Promise<void> {
  if (cluster.kind === 'sharded') {
    await client.db('admin').command({ enableSharding: 'e2e' });
    await client.db('admin').command({ shardCollection: 'e2e.orders', key: { _id: 'hashed' } });
  }
  await insert(
    client,
    largeCollection.name,
    numbered(littleOrders, (id) => order(id)),
  );
  await client
    .db('e2e')
    .collection('orders')
    .createIndexes([{ key: { customer: 1, total: -1 } }]);
  await insert(client, 'names', [{ _id: 'Ada' }, { _id: 'Grace' }]);
}

async function shard(client: MongoClient, cluster: TestCluster): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: 'e2e' });
  await admin.command({ shardCollection: 'e2e.orders', key: { _id: 'hashed' } });
  await admin.command({ shardCollection: 'e2e.customers', key: { region: 1, number: 1 } });
  await admin.command({ split: 'e2e.customers', middle: { region: 'south', number: 0 } });
  const chunks = await client
    .db('config')
    .collection('chunks')
    .find({ 'min.region': { $exists: true } })
    .sort({ min: 1 })
    .toArray();
  for (const [index, { min, max, shard }] of chunks.entries()) {
    const to = cluster.shardIds[index % cluster.shardIds.length];
    if (shard !== to) await admin.command({ moveChunk: 'e2e.customers', bounds: [min, max], to });
  }
}

async function createIndexes(client: MongoClient): Promise<void> {
  const e2e = client.db('e2e');
  await e2e
    .collection('orders')
    .createIndexes([{ key: { customer: 1, total: -1 } }, { key: { tag: 1 }, sparse: true }]);
  await e2e
    .collection('customers')
    .createIndexes([{ key: { name: 1 } }, { key: { number: 1 }, partialFilterExpression: { number: { $gt: 500 } } }]);
  await e2e.collection('mixed').createIndexes([
    { key: { number: 1 }, unique: true },
    { key: { at: 1 }, expireAfterSeconds: 86_400 },
  ]);
}

/** One order of about 1 KB. */
export function order(id: number): Order {
  return {
    _id: id,
    customer: id % 2_000,
    total: new Double(id / 8),
    lines: [{ article: id % 97, count: 1 }],
    version: 0,
    padding,
  };
}

/** One `_id` of every type that the server takes, and of every number type. */
function mixedIds(): unknown[] {
  const numbers = [
    new Int32(1),
    Long.fromString('9007199254740993'),
    new Double(2.5),
    new Double(NaN),
    Decimal128.fromString('3.25'),
    new Double(-Infinity),
  ];
  const texts = ['', 'text', 'ü', 'x'.repeat(2_000)];
  const others = [
    null,
    true,
    new Date(0),
    new ObjectId('0123456789abcdef01234567'),
    new UUID('00112233-4455-6677-8899-aabbccddeeff'),
    new Binary(Buffer.from('b')),
  ];
  return [
    ...numbers,
    ...texts,
    ...others,
    new Timestamp({ t: 1, i: 2 }),
    new MinKey(),
    new MaxKey(),
    {},
    { a: 1, b: { c: 'x' } },
    /* nested number of another type */ { a: new Double(1.5) },
  ];
}

function numbered<T>(count: number, make: (id: number) => T): T[] {
  return Array.from({ length: count }, (_, id) => make(id));
}

/** The server makes missing `_id`s: the driver would replace an `_id` that is null, too. */
async function insert(client: MongoClient, collection: string, documents: readonly Document[]): Promise<void> {
  for (let from = 0; from < documents.length; from += batchDocuments) {
    await client
      .db('e2e')
      .collection(collection)
      .insertMany(documents.slice(from, from + batchDocuments), { ordered: false, forceServerObjectId: true });
  }
}
