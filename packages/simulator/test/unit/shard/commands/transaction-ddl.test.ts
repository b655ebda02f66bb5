import { describe, expect, it } from 'vitest';
import { failureOf, long, lsid, ShardFixture } from '../shard-fixture.js';

const inTransaction = (first = false): Record<string, unknown> => ({
  lsid: lsid('t'),
  txnNumber: long(1),
  autocommit: false,
  ...(first && { startTransaction: true }),
});
const ending = { lsid: lsid('t'), txnNumber: long(1), autocommit: false };

async function names(fixture: ShardFixture): Promise<unknown[]> {
  const { cursor } = (await fixture.json('db', { listCollections: 1, nameOnly: true })) as {
    cursor: { firstBatch: { name: string }[] };
  };
  return cursor.firstBatch.map(({ name }) => name);
}

describe('a collection that a transaction makes', () => {
  it('is visible to the transaction alone until its commit, and to none after an abort', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'made', documents: [{ _id: 1 }], ...inTransaction(true) });
    expect(await fixture.found('db', { find: 'made', ...inTransaction() })).toEqual([{ _id: 1 }]);
    expect(await fixture.found('db', { find: 'made' })).toEqual([]);
    expect(await names(fixture)).toEqual([]);
    await fixture.run('admin', { abortTransaction: 1, ...ending });
    expect(await names(fixture)).toEqual([]);
  });

  it('comes with its indexes when the transaction is committed', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'made', ...inTransaction(true) });
    await fixture.run('db', { createIndexes: 'made', indexes: [{ key: { a: 1 }, name: 'a_1' }], ...inTransaction() });
    await fixture.run('db', { insert: 'made', documents: [{ _id: 1, a: 2 }], ...inTransaction() });
    await fixture.run('admin', { commitTransaction: 1, ...ending });
    expect(await names(fixture)).toEqual(['made']);
    expect(await fixture.found('db', { find: 'made', hint: 'a_1', filter: { a: 2 } })).toEqual([{ _id: 1, a: 2 }]);
  });

  it.each([
    ['existing', 'old'],
    ['non-empty', 'made'],
  ])('indexes are refused on an %s collection', async (which, collection) => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'old' });
    await fixture.run('db', { insert: 'made', documents: [{ _id: 1 }], ...inTransaction(true) });
    const made = fixture.run('db', {
      createIndexes: collection,
      indexes: [{ key: { a: 1 }, name: 'a_1' }],
      ...inTransaction(),
    });
    expect(await failureOf(made)).toEqual({
      code: 263,
      message: `Cannot create new indexes on ${which} collection db.${collection} in a multi-document transaction.`,
    });
  });
});
