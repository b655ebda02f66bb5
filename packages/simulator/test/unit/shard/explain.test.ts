import { expect, it } from 'vitest';
import { failureOf, ShardFixture } from './shard-fixture.js';

interface Explained {
  queryPlanner: { winningPlan: { stage: string; inputStage?: { stage: string; indexName?: string } } };
  executionStats?: { nReturned: number; totalKeysExamined: number; totalDocsExamined: number };
}

it('explain shows the plan that is taken and what running it looks at', async () => {
  using fixture = new ShardFixture();
  await fixture.run('db', { insert: 'c', documents: Array.from({ length: 10 }, (_, _id) => ({ _id, a: _id % 2 })) });
  await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'by_a' }] });
  const explained = (command: object, verbosity: string): Promise<Explained> =>
    fixture.json('db', { explain: command, verbosity }) as unknown as Promise<Explained>;
  const byIndex = await explained({ find: 'c', filter: { a: 1 } }, 'executionStats');
  expect(byIndex.queryPlanner.winningPlan).toMatchObject({
    stage: 'FETCH',
    inputStage: { stage: 'IXSCAN', indexName: 'by_a' },
  });
  expect(byIndex.executionStats).toMatchObject({ nReturned: 5, totalKeysExamined: 5, totalDocsExamined: 5 });
  const scan = await explained({ count: 'c', query: { b: 1 } }, 'executionStats');
  expect(scan.queryPlanner.winningPlan.stage).toBe('COLLSCAN');
  expect(scan.executionStats).toMatchObject({ nReturned: 0, totalKeysExamined: 0, totalDocsExamined: 10 });
  const sorted = await explained({ find: 'c', sort: { b: 1 } }, 'queryPlanner');
  expect(sorted.queryPlanner.winningPlan).toMatchObject({ stage: 'SORT', inputStage: { stage: 'COLLSCAN' } });
  expect(sorted.executionStats).toBeUndefined();
  expect(await failureOf(fixture.run('db', { explain: { find: 'c' }, verbosity: 'everything' }))).toMatchObject({
    code: 9,
  });
});
