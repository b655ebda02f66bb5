import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { documentsOf } from './equal-databases.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const searchDatabase = '__mdb_internal_search';
const atlasDatabase = '__mdb_internal_atlas';

it('internal databases of MongoDB stay where they are, whatever happens in them', async () => {
  const { cluster0, cluster1 } = fixture;
  const search = cluster0.client.db(searchDatabase);
  await search.collection('state').insertOne({ cluster: 'source' });
  await cluster1.client.db(atlasDatabase).collection('info').insertOne({ cluster: 'destination' });
  await cluster0.client.db('shop').collection('orders').insertOne({ total: 1 });
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await search.collection('state').updateOne({}, { $set: { changed: true } });
  await search.collection('other').insertOne({});
  await search.collection('other').rename('renamed');
  await search.dropDatabase();
  await cluster0.client.db('shop').collection('orders').insertOne({ total: 2 });
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  expect(await documentsOf(cluster1.client, 'shop', 'orders', false)).toHaveLength(2);
  const { databases } = await cluster1.client.db('admin').admin().listDatabases({ nameOnly: true });
  expect(databases.map(({ name }) => name)).not.toContain(searchDatabase);
  expect(await documentsOf(cluster1.client, atlasDatabase, 'info', false)).toHaveLength(1);
});
