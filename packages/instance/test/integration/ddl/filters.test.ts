import { afterEach, beforeEach, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { anyReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { documentsOf } from '../kinds/equal-databases.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, anyReleases);
});

afterEach(() => fixture.close());

async function fill(database: string, name: string, first: number): Promise<void> {
  await fixture.cluster0.client
    .db(database)
    .collection<{ _id: number }>(name)
    .insertMany(Array.from({ length: 30 }, (_, index) => ({ _id: first + index })));
}

async function namesOn(side: 'cluster0' | 'cluster1', database: string): Promise<string[]> {
  return (await fixture[side].client.db(database).listCollections({}, { nameOnly: true }).toArray())
    .map(({ name }) => name)
    .sort();
}

it('collections that are renamed across the edge of a filter, and databases of which a part is included', async () => {
  const shop = fixture.cluster0.client.db('shop');
  for (const [index, name] of ['in 1', 'in 2', 'in 3', 'out 1', 'out 2', 'out 3'].entries())
    await fill('shop', name, index * 100);
  for (const [index, name] of ['in 1', 'out 1'].entries()) await fill('mixed', name, index * 100);
  const within = { databaseRegex: { pattern: '^(shop|mixed)$' }, collectionsRegex: { pattern: '^in ' } };
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody({ includeNamespaces: [within] }));
  await instance.untilCanCommit();

  await shop.collection('in 1').rename('in 4');
  await shop.collection('in 2').rename('out 4');
  await shop.collection('out 1').rename('in 5');
  await shop.collection('out 2').rename('in 3', { dropTarget: true });
  await shop.collection('out 3').rename('out 5');
  for (const [index, name] of ['in 3', 'in 4', 'in 5', 'out 4', 'out 5'].entries())
    await fill('shop', name, 1_000 + index * 100);
  await fixture.cluster0.client.db('mixed').dropDatabase();

  await instance.commitWhenOffered();
  expect(await namesOn('cluster1', 'shop')).toEqual(['in 3', 'in 4', 'in 5']);
  for (const name of ['in 3', 'in 4', 'in 5']) {
    expect(await documentsOf(fixture.cluster1.client, 'shop', name, false)).toEqual(
      await documentsOf(fixture.cluster0.client, 'shop', name, false),
    );
  }
  expect(await namesOn('cluster1', 'mixed')).toEqual([]);
});
