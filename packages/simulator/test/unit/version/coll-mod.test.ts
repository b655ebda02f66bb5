import { describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { failureOf, ShardFixture } from '../shard/shard-fixture.js';

function shardOf(series: ReleaseSeries): ShardFixture {
  return new ShardFixture({ deployment: new Deployment(ServerVersion.parse(series)) });
}

async function withDuplicates(series: ReleaseSeries): Promise<ShardFixture> {
  const shard = shardOf(series);
  await shard.run('db', {
    insert: 'apples',
    documents: [
      { _id: 1, a: 100 },
      { _id: 2, a: 100 },
      { _id: 3, a: 5 },
      { _id: 4, a: 5 },
      { _id: 5, a: 7 },
    ],
  });
  await shard.run('db', { createIndexes: 'apples', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
  return shard;
}

const prepare = { collMod: 'apples', index: { keyPattern: { a: 1 }, prepareUnique: true } };
const convert = { collMod: 'apples', index: { keyPattern: { a: 1 }, unique: true } };

describe('collMod by release', () => {
  it.each(['6.0', '7.0', '8.0'] as const)('%s makes an index unique in two steps', async (series) => {
    using shard = await withDuplicates(series);
    expect(await failureOf(shard.run('db', convert))).toEqual({
      code: 72,
      message: "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.",
    });
    expect(await shard.json('db', prepare)).toEqual({ prepareUnique_old: false, prepareUnique_new: true });
    const refused = (await shard.json('db', { insert: 'apples', documents: [{ _id: 6, a: 7 }] })) as {
      writeErrors: { code: number }[];
    };
    expect(refused.writeErrors[0]?.code).toBe(11000);
    expect(await failureOf(shard.run('db', convert))).toMatchObject({ code: 359 });
    await expect(shard.run('db', convert)).rejects.toMatchObject({ codeName: 'CannotConvertIndexToUnique' });
    await shard.run('db', { delete: 'apples', deletes: [{ q: { _id: { $in: [2, 4] } }, limit: 0 }] });
    expect(await shard.json('db', { ...convert, dryRun: true })).toEqual({});
    expect(await shard.json('db', convert)).toEqual({ unique_new: true });
    expect(await shard.json('db', convert)).toEqual({});
    const { cursor } = (await shard.json('db', { listIndexes: 'apples' })) as { cursor: { firstBatch: unknown[] } };
    expect(cursor.firstBatch[1]).toEqual({ v: 2, key: { a: 1 }, name: 'a_1', unique: true });
  });

  it('lists the documents that stand against uniqueness, in the order of the keys', async () => {
    using shard = await withDuplicates('6.0');
    await shard.run('db', prepare);
    const error = (await shard.run('db', convert).catch((thrown: unknown) => thrown)) as {
      extra: Map<string, Map<string, unknown>[]>;
    };
    expect(JSON.parse(JSON.stringify(error.extra.get('violations')?.map((group) => group.get('ids'))))).toEqual([
      [3, 4],
      [1, 2],
    ]);
  });

  it('4.4 and 5.0 know neither step', async () => {
    using old = shardOf('5.0');
    expect(await failureOf(old.run('db', prepare))).toEqual({
      code: 40415,
      message: "BSON field 'collMod.index.prepareUnique' is an unknown field.",
    });
    using older = shardOf('4.4');
    await older.run('db', { create: 'apples' });
    expect(await failureOf(older.run('db', convert))).toEqual({
      code: 72,
      message: "Unrecognized field 'unique' in 'index' option",
    });
    expect(await failureOf(older.run('db', { collMod: 'apples', cappedSize: 4096 }))).toEqual({
      code: 72,
      message: 'unknown option to collMod: cappedSize',
    });
  });

  it('resizes capped collections from 6.0 on', async () => {
    using old = shardOf('5.0');
    await old.run('db', { create: 'log', capped: true, size: 4096 });
    expect(await failureOf(old.run('db', { collMod: 'log', cappedSize: 8192 }))).toMatchObject({ code: 40415 });
    using shard = shardOf('6.0');
    await shard.run('db', { create: 'log', capped: true, size: 4096, max: 10 });
    await shard.run('db', { insert: 'log', documents: [{ _id: 1 }, { _id: 2 }, { _id: 3 }] });
    await shard.run('db', { collMod: 'log', cappedSize: 8000, cappedMax: 2 });
    const { cursor } = (await shard.json('db', { listCollections: 1 })) as {
      cursor: { firstBatch: { options: unknown }[] };
    };
    expect(cursor.firstBatch[0]?.options).toEqual({ capped: true, size: 8192, max: 2 });
    await shard.run('db', { insert: 'log', documents: [{ _id: 4 }] });
    expect(await shard.found('db', { find: 'log' })).toEqual([{ _id: 3 }, { _id: 4 }]);
    await shard.run('db', { create: 'plain' });
    expect(await failureOf(shard.run('db', { collMod: 'plain', cappedMax: 1 }))).toEqual({
      code: 72,
      message: 'Collection must be capped.',
    });
  });

  it('turns a plain index into a TTL index from 6.0 on', async () => {
    using old = await withDuplicates('5.0');
    const expire = { collMod: 'apples', index: { name: 'a_1', expireAfterSeconds: 60 } };
    expect(await failureOf(old.run('db', expire))).toMatchObject({
      code: 72,
      message: 'no expireAfterSeconds field to update',
    });
    using shard = await withDuplicates('6.0');
    expect(await shard.json('db', expire)).toEqual({ expireAfterSeconds_new: 60 });
    expect(
      await failureOf(shard.run('db', { collMod: 'apples', index: { name: '_id_', expireAfterSeconds: 1 } })),
    ).toMatchObject({ code: 72 });
  });

  it('knows recordPreImages until 5.0 and pre- and post-images from 6.0 on', async () => {
    using old = shardOf('5.0');
    await old.run('db', { create: 'c' });
    expect(await old.json('db', { collMod: 'c', recordPreImages: true })).toEqual({});
    expect(
      await failureOf(old.run('db', { collMod: 'c', changeStreamPreAndPostImages: { enabled: true } })),
    ).toMatchObject({ code: 40415 });
    using shard = shardOf('6.0');
    await shard.run('db', { create: 'c' });
    expect(await failureOf(shard.run('db', { collMod: 'c', recordPreImages: true }))).toMatchObject({ code: 40415 });
    expect(await shard.json('db', { collMod: 'c', changeStreamPreAndPostImages: { enabled: true } })).toEqual({});
  });
});
