import { expect, it } from 'vitest';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { Fixture, type Side } from './fixture.js';
import { startBody } from './start-conditions.js';

/** What a connection string may ask for, and what a migration has to live with. */
const options = [
  'maxPoolSize=1',
  'maxPoolSize=2&maxConnecting=1',
  'minPoolSize=30&maxConnecting=1',
  'minPoolSize=100',
  'timeoutMS=20',
  'socketTimeoutMS=20&waitQueueTimeoutMS=1',
  'serverSelectionTimeoutMS=1&connectTimeoutMS=1',
  'heartbeatFrequencyMS=600000&maxIdleTimeMS=50',
  'readPreference=secondary&readPreferenceTags=dc:none&maxStalenessSeconds=90',
  'w=3&journal=true&wtimeoutMS=1&readConcernLevel=available',
  'compressors=zlib,zstd&zlibCompressionLevel=9',
  'retryReads=false&retryWrites=true&raw=true&promoteLongs=false&ignoreUndefined=true',
];

function withOptions({ connectionString }: Side, written: string): string {
  return `${connectionString}${connectionString.includes('?') ? '&' : '?'}${written}`;
}

it.each(options)('a migration with these options in both connection strings ends equal: %s', async (written) => {
  await using fixture = await Fixture.open('replicaSet', { shards: 1 });
  const orders = fixture.cluster0.client.db('shop').collection<{ _id: number; n: number }>('orders');
  await orders.insertMany(Array.from({ length: 3_000 }, (_, _id) => ({ _id, n: _id })));
  await orders.createIndex({ n: 1 }, { unique: true }, {});
  await using instance = await fixture.startInstance({
    cluster0: withOptions(fixture.cluster0, written),
    cluster1: withOptions(fixture.cluster1, written),
  });
  const sharding = { createSupportingIndexes: false, shardingEntries: [] };
  await instance.accepted('start', startBody({ sharding }));
  await instance.untilCanCommit();
  await orders.updateMany({ _id: { $lt: 500 } }, { $inc: { n: 10_000 } });
  await orders.deleteMany({ _id: { $gt: 2_900 } });
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
  expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(2_901);
});
