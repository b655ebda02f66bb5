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
