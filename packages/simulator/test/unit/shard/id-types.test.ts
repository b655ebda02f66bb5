import { describe, expect, it } from 'vitest';
import { value } from '../json.js';
import { ShardFixture } from './shard-fixture.js';

const ids: unknown[] = [
  { $minKey: 1 },
  null,
  { $numberDouble: 'NaN' },
  { $numberDouble: '-Infinity' },
  { $numberLong: '-9223372036854775808' },
  0,
  { $numberDecimal: '1E-6176' },
  { $numberDouble: '1.5' },
  { $numberLong: '9007199254740993' },
  { $numberDouble: 'Infinity' },
  '',
  'é',
  {},
  { a: 1 },
  { $ref: 'orders', $id: 5 },
  { $ref: 'orders', $id: 5, $db: 'shop', more: 1 },
  { $binary: { base64: 'AAECAw==', subType: '00' } },
  { $oid: '6553ede04472986dfd3617d0' },
  false,
  true,
  { $date: { $numberLong: '-5' } },
  { $timestamp: { t: 1, i: 2 } },
  { $maxKey: 1 },
];

describe('every type of _id', () => {
  it.each(ids.map((id) => [id]))('%j is stored, found, changed and removed', async (given) => {
    using fixture = new ShardFixture();
    const _id = value(given);
    await fixture.run('db', { insert: 'c', documents: [{ _id, v: 1 }] });
    expect(await fixture.json('db', { insert: 'c', documents: [{ _id }] })).toMatchObject({
      n: 0,
      writeErrors: [{ code: 11000 }],
    });
    const q = { _id: new Map([['$eq', _id]]) };
    expect(await fixture.json('db', { update: 'c', updates: [{ q, u: { $inc: { v: 1 } } }] })).toMatchObject({
      n: 1,
      nModified: 1,
    });
    expect(await fixture.json('db', { update: 'c', updates: [{ q, u: { v: 5 }, upsert: true }] })).toMatchObject({
      n: 1,
    });
    expect(await fixture.found('db', { find: 'c', filter: q, projection: { _id: 0 } })).toEqual([{ v: 5 }]);
    expect(await fixture.json('db', { delete: 'c', deletes: [{ q, limit: 1 }] })).toMatchObject({ n: 1 });
  });

  it.each<[unknown, unknown]>([
    [1, { $numberLong: '1' }],
    [1, { $numberDouble: '1.0' }],
    [{ $numberDecimal: '1.00' }, 1],
    [{ $numberDouble: '-0.0' }, 0],
    [{ $numberDecimal: 'NaN' }, { $numberDouble: 'NaN' }],
  ])('%j is the same as %j', async (one, other) => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [{ _id: value(one) }] });
    expect(await fixture.json('db', { insert: 'c', documents: [{ _id: value(other) }] })).toMatchObject({
      n: 0,
      writeErrors: [{ code: 11000 }],
    });
    expect(await fixture.found('db', { find: 'c', filter: { _id: value(other) } })).toHaveLength(1);
  });

  it('comes in the order of the types', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', {
      insert: 'c',
      documents: [...ids].reverse().map((id, at) => ({ _id: value(id), at: ids.length - 1 - at })),
    });
    const found = (await fixture.found('db', { find: 'c', sort: { _id: 1 }, projection: { at: 1, _id: 0 } })) as {
      at: number;
    }[];
    expect(found.map(({ at }) => at)).toEqual(ids.map((_id, at) => at));
  });

  it.each<[unknown]>(
    [[[1]], [{ $regularExpression: { pattern: 'x', options: '' } }], [{ $x: 1 }]].map((each) => [each[0]]),
  )('%j is refused', async (given) => {
    using fixture = new ShardFixture();
    const id = JSON.stringify(given) === '{"$x":1}' ? new Map([['$x', value(1)]]) : value(given);
    const reply = (await fixture.json('db', { insert: 'c', documents: [{ _id: id }] })) as {
      writeErrors: { code: number }[];
    };
    expect([52, 53]).toContain(reply.writeErrors[0]?.code);
  });
});
