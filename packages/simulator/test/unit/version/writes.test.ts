import { Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { failureOf, ShardFixture } from '../shard/shard-fixture.js';

function shardOf(series: ReleaseSeries): ShardFixture {
  return new ShardFixture({ deployment: new Deployment(ServerVersion.parse(series)) });
}

const zero = new Timestamp({ t: 0, i: 0 });

describe('writes by release', () => {
  it('keep empty timestamps when asked to, from 7.0 on', async () => {
    using shard = shardOf('7.0');
    await shard.run('db', { insert: 'c', documents: [{ _id: 1, t: zero }], bypassEmptyTsReplacement: true });
    await shard.run('db', { insert: 'c', documents: [{ _id: 2, t: zero }] });
    await shard.run('db', {
      update: 'c',
      updates: [{ q: { _id: 3 }, u: { t: zero }, upsert: true }],
      bypassEmptyTsReplacement: true,
    });
    await shard.run('db', {
      update: 'c',
      updates: [{ q: { _id: 1 }, u: { t: zero, v: 1 } }],
      bypassEmptyTsReplacement: true,
    });
    await shard.run('db', {
      findAndModify: 'c',
      query: { _id: 3 },
      update: { t: zero, v: 1 },
      bypassEmptyTsReplacement: true,
    });
    const stored = (await shard.found('db', { find: 'c', sort: { _id: 1 } })) as { t: { $timestamp: { t: number } } }[];
    expect(stored.map(({ t }) => t.$timestamp.t === 0)).toEqual([true, false, true]);
  });

  it.each(['insert', 'update', 'findAndModify'] as const)(
    'before 7.0 %s does not know bypassEmptyTsReplacement',
    async (command) => {
      using shard = shardOf('6.0');
      const body = { documents: [{}], updates: [{ q: {}, u: {} }], query: {}, update: {} };
      const run = shard.run('db', { [command]: 'c', ...body, bypassEmptyTsReplacement: true });
      expect(await failureOf(run)).toEqual({
        code: 40415,
        message: `BSON field '${command}.bypassEmptyTsReplacement' is an unknown field.`,
      });
    },
  );

  it('update the first document of an order from 8.0 on', async () => {
    using shard = shardOf('8.0');
    await shard.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, n: 1 },
        { _id: 2, n: 2 },
      ],
    });
    await shard.run('db', { update: 'c', updates: [{ q: {}, u: { $set: { hit: true } }, sort: { n: -1 } }] });
    expect(await shard.found('db', { find: 'c', filter: { hit: true } })).toEqual([{ _id: 2, n: 2, hit: true }]);
    using old = shardOf('7.0');
    const refused = (await old.json('db', { update: 'c', updates: [{ q: {}, u: {}, sort: { n: 1 } }] })) as {
      writeErrors: { code: number }[];
    };
    expect(refused.writeErrors[0]?.code).toBe(40415);
  });

  it('do not store names that begin with a dollar in 4.4', async () => {
    using old = shardOf('4.4');
    const inserted = (await old.json('db', { insert: 'c', documents: [{ _id: 1, $a: 1 }] })) as {
      writeErrors: object[];
    };
    expect(inserted.writeErrors[0]).toMatchObject({
      code: 2,
      errmsg: "Document can't have $ prefixed field names: $a",
    });
    await old.run('db', { insert: 'c', documents: [{ _id: 1, ref: { $ref: 'd', $id: 1 } }] });
    const set = { update: 'c', updates: [{ q: { _id: 1 }, u: [{ $set: { x: { $literal: { $b: 1 } } } }] }] };
    expect(((await old.json('db', set)) as { writeErrors: object[] }).writeErrors[0]).toMatchObject({ code: 52 });
    await old.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { y: 1 } } }] });
    expect(await old.found('db', { find: 'c' })).toMatchObject([{ _id: 1, y: 1 }]);
    using shard = shardOf('5.0');
    expect(await shard.json('db', { insert: 'c', documents: [{ _id: 1, $a: 1 }] })).toMatchObject({ n: 1 });
  });
});
