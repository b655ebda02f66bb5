import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';
import { expect, test } from 'vitest';
import { testSeed } from '../../../../../test/seed.js';
import { TwoClusters } from './two-clusters.js';

interface Item {
  _id: number;
  region: number;
  bytes: Binary;
  n?: number;
}

const documents = 400;
/** So large that a reply holds a few, and documents of one `_id` come in several. */
const documentBytesMax = 300_000;

/**
 * Replies are freed as soon as their documents are compared: a document that is read later would look different, and
 * one that is missing could look equal.
 */
test('differences between documents of many large replies are found, and no other ones', async () => {
  const random = new Random(testSeed);
  await using clusters = await TwoClusters.open([2, 2]);
  const items: Item[] = [];
  for (let _id = 0; _id < documents; _id += 1) {
    // Some have twins on the other shard.
    for (const region of random.next() < 0.2 ? [-1, 1] : [random.pick([-1, 1])])
      items.push({ _id, region, bytes: new Binary(randomBytes(1 + random.below(documentBytesMax))) });
  }
  for (const { client } of clusters.sides) {
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'large', primaryShard: 'shard0' });
    await admin.command({ shardCollection: 'large.items', key: { region: 1 } });
    await admin.command({ split: 'large.items', middle: { region: 0 } });
    await admin.command({ moveChunk: 'large.items', find: { region: 1 }, to: 'shard1', _waitForDelete: true });
    for (let at = 0; at < items.length; at += 50)
      await client
        .db('large')
        .collection<Item>('items')
        .insertMany(items.slice(at, at + 50));
  }
  expect((await clusters.compare()).documents).toEqual([]);

  const there = clusters.destination.client.db('large').collection<Item>('items');
  const expected: [number, string][] = [];
  for (const { _id, region } of items) {
    if (random.next() > 0.1) continue;
    if (random.next() < 0.5) {
      await there.deleteOne({ _id, region });
      expected.push([_id, 'missingOnDestination']);
    } else {
      await there.updateOne({ _id, region }, { $set: { n: 1 } });
      expected.push([_id, 'different']);
    }
  }
  const found = (await clusters.compare()).documents.map(({ _id, kind }) => [
    Number((_id as { $numberInt: string }).$numberInt),
    kind,
  ]);
  const ids = (list: readonly (readonly unknown[])[]): number[] =>
    [...new Set(list.map(([_id]) => Number(_id)))].sort((a, b) => a - b);
  expect(ids(found)).toEqual(ids(expected));
  // Of twins, either's difference may stand for both.
  const single = new Set(ids(expected).filter((id) => items.filter(({ _id }) => _id === id).length === 1));
  const ofSingle = (list: readonly (readonly unknown[])[]): string[] =>
    list
      .filter(([_id]) => single.has(Number(_id)))
      .map(String)
      .sort();
  expect(ofSingle(found)).toEqual(ofSingle(expected));
});
