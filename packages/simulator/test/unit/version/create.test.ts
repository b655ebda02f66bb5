import { describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { failureOf, ShardFixture } from '../shard/shard-fixture.js';

function shardOf(series: ReleaseSeries): ShardFixture {
  return new ShardFixture({ deployment: new Deployment(ServerVersion.parse(series)) });
}

const clustered = { create: 'c', clusteredIndex: { key: { _id: 1 }, unique: true, name: 'by id' } };

async function batch(shard: ShardFixture, command: Record<string, unknown>): Promise<unknown[]> {
  const { cursor } = (await shard.json('db', command)) as { cursor: { firstBatch: unknown[] } };
  return cursor.firstBatch;
}

describe('create by release', () => {
  it('clusters collections by _id from 6.0 on', async () => {
    using shard = shardOf('6.0');
    await shard.run('db', { ...clustered, expireAfterSeconds: 60 });
    const [listed] = await batch(shard, { listCollections: 1 });
    expect(listed).toMatchObject({
      options: { clusteredIndex: { v: 2, key: { _id: 1 }, name: 'by id', unique: true } },
    });
    expect(listed).not.toHaveProperty('idIndex');
    expect(await batch(shard, { listIndexes: 'c' })).toEqual([
      { v: 2, key: { _id: 1 }, name: 'by id', unique: true, clustered: true },
    ]);
    await shard.run('db', { insert: 'c', documents: [{ _id: 3 }, { _id: 1 }, { _id: 2 }] });
    expect(await batch(shard, { find: 'c' })).toEqual([{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
    expect(await failureOf(shard.run('db', { dropIndexes: 'c', index: 'by id' }))).toMatchObject({ code: 5979800 });
    expect(await failureOf(shard.run('db', { collMod: 'c', index: { name: 'by id', hidden: true } }))).toMatchObject({
      code: 6011800,
    });
    await shard.run('db', { collMod: 'c', expireAfterSeconds: 'off' });
    expect((await batch(shard, { listCollections: 1 }))[0]).not.toMatchObject({
      options: { expireAfterSeconds: expect.anything() as unknown },
    });
  });

  it('refuses clustered indexes of other keys, without uniqueness and of capped collections', async () => {
    using shard = shardOf('7.0');
    expect(
      await failureOf(shard.run('db', { create: 'c', clusteredIndex: { key: { a: 1 }, unique: true } })),
    ).toMatchObject({ code: 197 });
    expect(
      await failureOf(shard.run('db', { create: 'c', clusteredIndex: { key: { _id: 1 }, unique: false } })),
    ).toMatchObject({ code: 5979700 });
    expect(await failureOf(shard.run('db', { create: 'c', clusteredIndex: true }))).toMatchObject({ code: 5979703 });
    expect(await failureOf(shard.run('db', { ...clustered, capped: true, size: 4096 }))).toMatchObject({ code: 72 });
    expect(await failureOf(shard.run('db', { create: 'c', expireAfterSeconds: 5 }))).toMatchObject({ code: 72 });
  });

  it('refuses options of later and of earlier releases', async () => {
    using oldest = shardOf('4.4');
    expect(await failureOf(oldest.run('db', { create: 'c', timeseries: { timeField: 't' } }))).toEqual({
      code: 40415,
      message: "BSON field 'create.timeseries' is an unknown field.",
    });
    using old = shardOf('5.0');
    expect(await failureOf(old.run('db', clustered))).toMatchObject({ code: 14 });
    await old.run('db', { create: 'images', recordPreImages: true });
    using shard = shardOf('6.0');
    expect(await failureOf(shard.run('db', { create: 'images', recordPreImages: true }))).toMatchObject({
      code: 40415,
    });
    await shard.run('db', { create: 'images', changeStreamPreAndPostImages: { enabled: true } });
    expect((await batch(shard, { listCollections: 1 }))[0]).toMatchObject({
      options: { changeStreamPreAndPostImages: { enabled: true } },
    });
  });
});
