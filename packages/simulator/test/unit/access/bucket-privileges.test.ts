import { Binary, type Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';

const password = 'x';
const root = { user: 'root', password, roles: ['root'] };
const timeseries = { timeField: 't', metaField: 'm' };
const buckets = 'system.buckets.s';
const everyBuckets = { db: '', system_buckets: '' };
const everyCollection = { db: '', collection: '' };
const direct = { resource: { cluster: true }, actions: ['useUUID', 'issueDirectShardOperations'] };

let cluster: Cluster;
const clients: MongoClient[] = [];

async function connect(host: string, user: string): Promise<MongoClient> {
  const client = new MongoClient(`mongodb://${user}:${password}@${host}/?directConnection=true&authSource=admin`);
  clients.push(client);
  return client.connect();
}

/** A client of a user with these privileges and no others. */
async function userOf(host: string, name: string, privileges: Document[]): Promise<MongoClient> {
  const admin = (await connect(host, 'root')).db('admin');
  await admin.command({ createRole: name, privileges, roles: [] });
  await admin.command({ createUser: name, pwd: password, roles: [name] });
  return connect(host, name);
}

async function codeOf(client: MongoClient, command: Document): Promise<unknown> {
  try {
    await client.db('a').command(command);
    return 0;
  } catch (error) {
    return (error as { code?: number }).code;
  }
}

beforeAll(async () => {
  cluster = await startWholeCluster({ shards: 2, version: '8.0', auth: { users: [root], shardUsers: [root] } });
  await (await connect(cluster.router, 'root')).db('a').command({ create: 's', timeseries });
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await cluster.close();
});

describe('buckets of a time series', () => {
  const insert = { insert: buckets, documents: [{ _id: 1 }] };
  const writes = [
    { ...insert, bypassDocumentValidation: true },
    { update: buckets, updates: [{ q: { _id: 2 }, u: { $set: { meta: 1 } } }], bypassDocumentValidation: true },
  ];

  it('are in no privilege on every collection, nor by the name of the series', async () => {
    const actions = ['find', 'insert', 'update', 'bypassDocumentValidation'];
    const client = await userOf(cluster.router, 'writesAll', [
      { resource: everyCollection, actions },
      { resource: { db: 'a', collection: 's' }, actions },
    ]);
    for (const command of [{ find: buckets }, insert, ...writes]) expect(await codeOf(client, command)).toBe(13);
  });

  it('need the action of whoever bypasses their validator', async () => {
    const actions = ['insert', 'update'];
    const client = await userOf(cluster.router, 'validates', [{ resource: everyBuckets, actions }]);
    for (const command of writes) expect(await codeOf(client, command)).toBe(13);
    const bypasses = [{ resource: everyBuckets, actions: [...actions, 'bypassDocumentValidation'] }];
    const other = await userOf(cluster.router, 'bypasses', bypasses);
    for (const command of writes) expect(await codeOf(other, command)).toBe(0);
  });

  it('are read by their UUID as by their name', async () => {
    const host = cluster.shards[0] ?? '';
    const [listed] = await (await connect(host, 'root')).db('a').listCollections({ name: buckets }).toArray();
    const { uuid } = (listed as unknown as { info: { uuid: Binary } }).info;
    const actions = ['find', 'listIndexes'];
    const plain = await userOf(host, 'plain', [direct, { resource: everyCollection, actions }]);
    const reader = await userOf(host, 'reader', [direct, { resource: everyBuckets, actions }]);
    const unknown = new Binary(Buffer.alloc(16, 7), Binary.SUBTYPE_UUID);
    for (const name of ['find', 'listIndexes']) {
      expect([await codeOf(plain, { [name]: uuid }), await codeOf(reader, { [name]: uuid })]).toEqual([13, 0]);
      expect(await codeOf(plain, { [name]: unknown })).toBe(26);
    }
  });
});

it('a collection is made by whoever may insert into it, and a capped one with an action of its own', async () => {
  const client = await userOf(cluster.router, 'inserts', [{ resource: everyCollection, actions: ['insert'] }]);
  expect(await codeOf(client, { create: 'plain' })).toBe(0);
  expect(await codeOf(client, { create: 'capped', capped: true, size: 4096 })).toBe(13);
  expect(await codeOf(client, { create: 'view', viewOn: 'plain', pipeline: [] })).toBe(13);
});
