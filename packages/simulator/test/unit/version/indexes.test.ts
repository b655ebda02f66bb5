import { describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { failureOf, lsid, ShardFixture } from '../shard/shard-fixture.js';

function shardOf(series: ReleaseSeries): ShardFixture {
  return new ShardFixture({ deployment: new Deployment(ServerVersion.parse(series)) });
}

function indexes(...specs: object[]): Record<string, unknown> {
  return { createIndexes: 'c', indexes: specs };
}

describe('createIndexes by release', () => {
  it('builds a unique index beside a plain one on the same key from 5.0 on', async () => {
    const plain = { key: { a: 1 }, name: 'plain' };
    const unique = { key: { a: 1 }, name: 'unique', unique: true };
    using old = shardOf('4.4');
    await old.run('db', indexes(plain));
    expect(await failureOf(old.run('db', indexes(unique)))).toMatchObject({ code: 85 });
    using shard = shardOf('5.0');
    await shard.run('db', indexes(plain));
    expect(await shard.json('db', indexes(unique))).toMatchObject({ numIndexesAfter: 3 });
  });

  it('takes prepareUnique from 6.0 on', async () => {
    const prepared = { key: { a: 1 }, name: 'a_1', prepareUnique: true };
    using old = shardOf('5.0');
    expect(await failureOf(old.run('db', indexes(prepared)))).toMatchObject({ code: 197 });
    using shard = shardOf('6.0');
    await shard.run('db', indexes(prepared));
    await shard.run('db', { insert: 'c', documents: [{ _id: 1, a: 1 }] });
    const refused = (await shard.json('db', { insert: 'c', documents: [{ _id: 2, a: 1 }] })) as {
      writeErrors: object[];
    };
    expect(refused.writeErrors[0]).toMatchObject({ code: 11000 });
    expect(await failureOf(shard.run('db', indexes({ ...prepared, prepareUnique: false })))).toMatchObject({
      code: 85,
    });
  });

  it('takes the largest int as an age to expire at from 6.0 on', async () => {
    const ttl = { key: { t: 1 }, name: 't_1', expireAfterSeconds: 2_147_483_647 };
    using old = shardOf('5.0');
    expect(await failureOf(old.run('db', indexes(ttl)))).toMatchObject({ code: 67 });
    using shard = shardOf('6.0');
    expect(await shard.json('db', indexes(ttl))).toMatchObject({ numIndexesAfter: 2 });
  });
});

describe('reads by release', () => {
  it('go to a snapshot outside of transactions from 5.0 on', async () => {
    const read = { find: 'c', readConcern: { level: 'snapshot' } };
    using old = shardOf('4.4');
    expect(await failureOf(old.run('db', { ...read, lsid: lsid('a') }))).toEqual({
      code: 72,
      message: 'readConcern level snapshot requires a txnNumber',
    });
    using shard = shardOf('5.0');
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    expect(await shard.found('db', read)).toEqual([{ _id: 1 }]);
  });
});
