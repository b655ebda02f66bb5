import { createHash } from 'node:crypto';
import { Binary, type Collection, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';

/** The largest document that servers accept, minus the fields around its content. */
const contentBytesMax = 16 * 2 ** 20 - 100;

interface Large extends Document {
  _id: number;
  content?: Binary;
}

function content(byte: number, bytes = contentBytesMax): Binary {
  return new Binary(Buffer.alloc(bytes, byte));
}

async function bytesOf(files: Collection<Large>, _id: number): Promise<Buffer> {
  const found: unknown = await files.findOne({ _id }, { raw: true });
  return Buffer.from(found as Uint8Array);
}

it('documents of 16 MB are copied, inserted, changed, replaced and re-read', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const admin = fixture.cluster0.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await admin.command({ shardCollection: 'shop.files', key: { _id: 'hashed' } });
  const files = fixture.cluster0.client.db('shop').collection<Large>('files');
  for (const _id of [1, 3]) await files.insertOne({ _id });
  for (const _id of [2, 4]) await files.insertOne({ _id, content: content(_id) });
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await files.insertOne({ _id: 5, content: content(5) });
  await files.replaceOne({ _id: 1 }, { content: content(9) });
  await files.updateOne({ _id: 2 }, { $set: { flag: true } });
  // A delta of this size, and one whose paths have dots, need a re-read.
  await files.updateOne({ _id: 3 }, { $set: { content: content(8) } });
  await files.updateOne({ _id: 4 }, { $set: { 'nested.flag': true } });
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  const copies = fixture.cluster1.client.db('shop').collection<Large>('files');
  expect([await files.countDocuments(), await copies.countDocuments()]).toEqual([5, 5]);
  for (const _id of [1, 2, 3, 4, 5]) {
    const [source, destination] = [await bytesOf(files, _id), await bytesOf(copies, _id)];
    expect(source.length).toBeGreaterThan(contentBytesMax);
    expect(source.equals(destination)).toBe(true);
  }
});

/** A shard key that a query would take for a condition. Its twin on the other shard fulfils the condition. */
const condition = { $gt: 'a' };

it('documents of 16 MB whose shard keys look like conditions arrive apart from their twins', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const { cluster0, cluster1 } = fixture;
  const admin = cluster0.client.db('admin');
  const [first, second] = await cluster0.shardIds();
  await admin.command({ enableSharding: 'shop', primaryShard: first });
  await admin.command({ shardCollection: 'shop.files', key: { sk: 1 } });
  await admin.command({ split: 'shop.files', middle: { sk: {} } });
  await admin.command({ moveChunk: 'shop.files', find: { sk: {} }, to: second, _waitForDelete: true });
  const files = cluster0.client.db('shop').collection<Large>('files');
  const of = (_id: number): Document => ({ _id, sk: { $eq: condition } });
  const large = (_id: number): Large => ({ _id, sk: condition, content: content(_id) });
  for (const _id of [1, 2, 3, 4, 5]) await files.insertOne({ _id, sk: 'abc' });
  for (const _id of [1, 2, 3, 4]) await files.insertOne(large(_id));
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await files.deleteOne(of(1));
  await files.updateOne(of(2), { $set: { flag: true } });
  await files.updateOne(of(3), { $set: { 'nested.flag': true } });
  await files.replaceOne(of(4), { sk: condition, content: content(9) });
  await files.insertOne(large(5));
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  const bytes = async ({ client }: typeof cluster0, filter: Document): Promise<string> => {
    const found: unknown = await client.db('shop').collection('files').findOne(filter, { raw: true });
    return found === null
      ? 'none'
      : createHash('sha256')
          .update(found as Uint8Array)
          .digest('hex');
  };
  for (const sk of ['abc', condition])
    for (const _id of [1, 2, 3, 4, 5]) {
      const filter = { _id, sk: { $eq: sk } };
      const isGone = _id === 1 && sk !== 'abc';
      expect((await bytes(cluster0, filter)) === 'none').toBe(isGone);
      expect(await bytes(cluster1, filter)).toBe(await bytes(cluster0, filter));
    }
  expect(await cluster1.client.db('shop').collection('files').countDocuments()).toBe(9);
});
