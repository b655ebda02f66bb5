import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { anyReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, anyReleases);
});

afterAll(() => fixture.close());

beforeEach(() => fixture.clear());

const documents = Array.from({ length: 20 }, (_, index) => ({ _id: index }));

const collectionIn = (side: Side, database: string) => side.client.db(database).collection<{ _id: number }>('t');

it('a database that is dropped and made again in another case arrives', async () => {
  const { client } = fixture.cluster0;
  await collectionIn(fixture.cluster0, 'shop').insertMany(documents);
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();

  await client.db('shop').dropDatabase();
  await collectionIn(fixture.cluster0, 'SHOP').insertMany(documents.slice(5));

  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'SHOP');
  expect(await client.db('SHOP').collection('t').countDocuments()).toBe(15);
});

it('an emptied database of the destination in another case is no obstacle', async () => {
  await fixture.cluster1.client.db('Stock').createCollection('t');
  await fixture.cluster1.client.db('Stock').dropCollection('t');
  await collectionIn(fixture.cluster0, 'stock').insertMany(documents);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'stock');
});
