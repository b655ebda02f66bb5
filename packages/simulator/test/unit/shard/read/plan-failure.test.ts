import { expect, it } from 'vitest';
import type { ReleaseSeries } from '../../../../src/node/server-version.js';
import { failureOf, VersionedShard } from '../versioned-shard.js';

it.each<[object, string, string?]>([
  [{}, '$and\n'],
  [{ _id: 3 }, '_id $eq 3\n'],
  [{ _id: { $gte: 1, $lt: 4 } }, '$and\n    _id $lt 4\n    _id $gte 1\n'],
  [{ $or: [{ _id: { $lt: 5 } }, { a: 'x' }] }, '$or\n    a $eq "x"\n    _id $lt 5\n'],
  [{ _id: { $in: [3, 1] } }, '_id $in [ 1 3]\n', '_id $in [ 1 3 ]\n'],
])('a query that cannot be planned is quoted: %j', async (filter, tree, treeBefore80 = tree) => {
  expect(await quoteOf('8.0', filter)).toContain(quoted(tree));
  expect(await quoteOf('5.0', filter)).toContain(quoted(treeBefore80));
});

function quoted(tree: string): string {
  return `error processing query: ns=db.c batchSize=0Tree: ${tree}Sort: {}\nProj: {}\n planner returned error`;
}

/** What a shard says to such a query. */
async function quoteOf(release: ReleaseSeries, filter: object): Promise<string> {
  using fixture = new VersionedShard(release);
  await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
  const find = fixture.run('db', {
    find: 'c',
    filter,
    hint: { _id: 1 },
    min: { _id: 4 },
    max: { _id: 2 },
    batchSize: 0,
  });
  const { code, message } = await failureOf(find);
  expect(code).toBe(51175);
  return message;
}
