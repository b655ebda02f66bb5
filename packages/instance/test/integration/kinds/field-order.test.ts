import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

/** Fields in order: JavaScript objects put names that look like numbers first. */
const ordered = (...fields: [string, unknown][]): Map<string, unknown> => new Map(fields);
const placeIn = (region: string): Map<string, unknown> => ordered(['region', region], ['2024', 1]);

/** Places on two shards, divided by a bound that is a document, and a collection whose shard key is a document. */
async function load({ cluster0 }: Fixture): Promise<void> {
  const admin = cluster0.client.db('admin');
  const shop = cluster0.client.db('shop');
  const [first, second] = await cluster0.shardIds();
  await admin.command({ enableSharding: 'shop', primaryShard: first });
  await admin.command({ shardCollection: 'shop.places', key: { place: 1 } });
  await admin.command({ split: 'shop.places', middle: { place: placeIn('m') } });
  await admin.command({ moveChunk: 'shop.places', find: { place: placeIn('m') }, to: second, _waitForDelete: true });
  await shop
    .collection('places')
    .insertMany(
      Array.from('abcdefghijklmnopqrstuvwxyz', (region, n): Document => ({ place: placeIn(region), b: n % 3, 10: n })),
    );
  const key = ordered(['b', 1], ['10', 1]);
  await admin.command({ shardCollection: 'shop.compound', key });
  await admin.command({ split: 'shop.compound', middle: ordered(['b', 10], ['10', 5]) });
  await admin.command({
    moveChunk: 'shop.compound',
    find: ordered(['b', 10], ['10', 5]),
    to: second,
    _waitForDelete: true,
  });
  await shop.collection('compound').insertMany(Array.from({ length: 40 }, (_, n): Document => ({ b: n % 20, 10: n })));
}

async function define({ cluster0 }: Fixture): Promise<void> {
  const shop = cluster0.client.db('shop');
  const indexes = [
    { key: ordered(['b', 1], ['10', -1]), name: 'compound', unique: true },
    { key: { n: 1 }, name: 'partial', partialFilterExpression: { place: { $gte: placeIn('k') } } },
    { key: ordered(['words', 'text'], ['7', 'text']), name: 'texts' },
  ];
  await shop.command({ createIndexes: 'defined', indexes });
  await shop.command({
    create: 'sorted',
    viewOn: 'places',
    pipeline: [{ $sort: ordered(['b', 1], ['10', -1]) }, { $project: { _id: 0, 10: 1 } }],
  });
  await shop.command({ create: 'checked', validator: { place: { $eq: placeIn('q') } } });
}

it('bounds, keys, filters, pipelines and validators keep the order of fields with numeric names', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await load(fixture);
  await define(fixture);
  const board = new Board();
  await using one = await fixture.startInstance({ id: 'shard0', sourceAccess: 'direct' }, board.seat());
  await using other = await fixture.startInstance({ id: 'shard1', sourceAccess: 'direct' }, board.seat());
  for (const instance of [one, other])
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
  for (const instance of [one, other]) await instance.untilCanCommit();
  const source = fixture.cluster0.client.db('shop');
  await source.collection('places').updateMany({}, { $inc: { changed: 1 } });
  await source.collection('compound').insertMany([
    { b: 10, 10: 4 },
    { b: 10, 10: 6 },
  ]);
  for (const instance of [one, other]) await instance.accepted('commit');
  for (const instance of [one, other]) await instance.untilState('COMMITTED');

  expect(await fixture.cluster1.client.db('shop').collection('places').countDocuments()).toBe(26);
  expect(await fixture.cluster1.client.db('shop').collection('compound').countDocuments()).toBe(42);
  await expectEqualDatabases(fixture, 'shop');
  const shop = fixture.cluster1.client.db('shop');
  await shop.command({ find: 'defined', hint: ordered(['b', 1], ['10', -1]) });
  await expect(shop.command({ find: 'defined', hint: ordered(['10', -1], ['b', 1]) })).rejects.toThrow();
  const shown = (db: typeof shop): Promise<Document[]> => db.collection('sorted').find().toArray();
  expect(await shown(shop)).toEqual(await shown(source));
  await shop.collection('checked').insertOne({ place: placeIn('q') });
  await expect(
    shop.collection('checked').insertOne({ place: ordered(['2024', 1], ['region', 'q']) }),
  ).rejects.toMatchObject({ code: 121 });
});
