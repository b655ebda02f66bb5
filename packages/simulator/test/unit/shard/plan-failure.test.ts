import { expect, it } from 'vitest';
import { failureOf, ShardFixture } from './shard-fixture.js';

it.each<[object, string]>([
  [{}, '$and\n'],
  [{ _id: 3 }, '_id $eq 3\n'],
  [{ _id: { $gte: 1, $lt: 4 } }, '$and\n    _id $lt 4\n    _id $gte 1\n'],
  [{ $or: [{ _id: { $lt: 5 } }, { a: 'x' }] }, '$or\n    a $eq "x"\n    _id $lt 5\n'],
  [{ _id: { $in: [3, 1] } }, '_id $in [ 1 3 ]\n'],
])('a query that cannot be planned is quoted: %j', async (filter, tree) => {
  using fixture = new ShardFixture();
  await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
  const find = fixture.run('db', {
    find: 'c',
    filter,
    hint: { _id: 1 },
    min: { _id: 4 },
    max: { _id: 2 },
    batchSize: 0,
  });
  const quoted = `error processing query: ns=db.c batchSize=0Tree: ${tree}Sort: {}\nProj: {}\n planner returned error`;
  expect(await failureOf(find)).toMatchObject({ code: 51175, message: expect.stringContaining(quoted) as string });
});
