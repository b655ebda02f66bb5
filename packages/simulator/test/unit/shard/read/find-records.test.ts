import { expect, it } from 'vitest';
import { ShardFixture } from '../shard-fixture.js';

it('findAndModify takes the first document of its order, with an index for it and without', async () => {
  using shard = new ShardFixture();
  await shard.run('db', {
    insert: 'c',
    documents: [
      { _id: 1, n: 1 },
      { _id: 2, n: 3 },
      { _id: 3, n: 2 },
    ],
  });
  const last = { findAndModify: 'c', query: {}, sort: { n: -1 }, remove: true };
  expect(await shard.json('db', last)).toMatchObject({ value: { _id: 2 } });
  await shard.run('db', { createIndexes: 'c', indexes: [{ key: { n: 1 }, name: 'n_1' }] });
  expect(await shard.json('db', last)).toMatchObject({ value: { _id: 3 } });
});
