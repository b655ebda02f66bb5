import { expect, it } from 'vitest';
import { doc } from '../../../../src/node/doc-fields.js';
import { FailPoint } from '../../../../src/faults/fail-point.js';
import { failureOf, ShardFixture } from '../shard-fixture.js';

const build = { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] };

it('an index that is being built is listed with its build, refuses other changes, and ends with its drop', async () => {
  using fixture = new ShardFixture();
  const point = new FailPoint();
  fixture.shard.holdBuildsAt(point);
  await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 1 }] });
  const listed = async () =>
    JSON.stringify(await fixture.json('db', { listIndexes: 'c', includeBuildUUIDs: true })).includes('buildUUID');
  const ofBuild = { currentOp: 1, desc: 'IndexBuildsCoordinatorMongod-1' };
  const threads = async () => ((await fixture.json('admin', ofBuild)) as { inprog: unknown[] }).inprog;
  point.configure(doc(['mode', 'alwaysOn']));
  const given = failureOf(fixture.run('db', build));
  expect(await listed()).toBe(true);
  expect(await threads()).toMatchObject([{ ns: 'db.c', active: false, command: { createIndexes: 'c' } }]);
  const change = { collMod: 'c', index: { name: '_id_', hidden: false } };
  expect(await failureOf(fixture.run('db', change))).toMatchObject({ code: 12_587 });
  await fixture.run('db', { dropIndexes: 'c', index: 'a_1' });
  expect(await given).toMatchObject({ code: 276 });
  expect(await listed()).toBe(false);
  expect(await threads()).toEqual([]);
});

it('a second command for the same index waits for the build, which goes on when the node steps down', async () => {
  using fixture = new ShardFixture();
  const point = new FailPoint();
  fixture.shard.holdBuildsAt(point);
  await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 1 }] });
  point.configure(doc(['mode', 'alwaysOn']));
  const first = failureOf(fixture.run('db', build));
  fixture.shard.stepDown();
  expect(await first).toMatchObject({ code: 11_602 });
  const second = fixture.json('db', build);
  point.configure(doc(['mode', 'off']));
  expect(await second).toMatchObject({ numIndexesBefore: 2, numIndexesAfter: 2 });
});
