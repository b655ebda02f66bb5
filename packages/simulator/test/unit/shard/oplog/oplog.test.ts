import { Double } from 'bson';
import { describe, expect, it } from 'vitest';
import { failureOf, VersionedShard } from '../versioned-shard.js';

describe('the oplog', () => {
  it('can be read from both ends, filtered and summed up', async () => {
    using fixture = new VersionedShard('5.0');
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }] });
    const read = (rest: Record<string, unknown>): Promise<unknown[]> =>
      fixture.found('local', { find: 'oplog.rs', ...rest });
    expect(await read({ sort: { $natural: 1 }, limit: 1 })).toMatchObject([{ op: 'n', o: { msg: 'initiating set' } }]);
    expect(await read({ sort: { $natural: -1 }, limit: 1 })).toMatchObject([{ op: 'i', ns: 'db.c', o: { _id: 2 } }]);
    expect(await read({ filter: { op: 'i' } })).toHaveLength(2);
    const pipeline = [{ $match: { op: 'i' } }, { $group: { _id: '$ns', n: { $sum: 1 } } }];
    expect(await fixture.found('local', { aggregate: 'oplog.rs', pipeline, cursor: {} })).toEqual([
      { _id: 'db.c', n: 2 },
    ]);
    expect(await fixture.found('local', { listCollections: 1, nameOnly: true })).toContainEqual({
      name: 'oplog.rs',
      type: 'collection',
    });
    expect(await fixture.json('local', { collStats: 'oplog.rs' })).toMatchObject({
      ns: 'local.oplog.rs',
      capped: true,
      count: 4,
    });
  });

  it('shows updates as each release does', async () => {
    const logged = async (series: '4.4' | '5.0'): Promise<unknown> => {
      using fixture = new VersionedShard(series);
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 1, o: { x: 1 } }] });
      await fixture.run('db', {
        update: 'c',
        updates: [{ q: { _id: 1 }, u: { $set: { 'o.x': 2 }, $unset: { a: 1 } } }],
      });
      const [last] = (await fixture.found('local', { find: 'oplog.rs', sort: { $natural: -1 }, limit: 1 })) as {
        o: unknown;
        o2: unknown;
      }[];
      return [last?.o, last?.o2];
    };
    expect(await logged('4.4')).toEqual([{ $v: 1, $unset: { a: true }, $set: { 'o.x': 2 } }, { _id: 1 }]);
    expect(await logged('5.0')).toEqual([{ $v: 2, diff: { d: { a: false }, so: { u: { x: 2 } } } }, { _id: 1 }]);
  });

  it('refuses sizes that the server refuses', async () => {
    using fixture = new VersionedShard('5.0');
    expect(await failureOf(fixture.run('admin', { replSetResizeOplog: 1, size: new Double(10) }))).toMatchObject({
      code: 51024,
    });
    expect(await failureOf(fixture.run('admin', { replSetResizeOplog: 1 }))).toMatchObject({ code: 72 });
    const retaining = fixture.run('admin', { replSetResizeOplog: 1, minRetentionHours: new Double(1) });
    expect(await failureOf(retaining)).toMatchObject({ code: 115 });
    await fixture.run('admin', { replSetResizeOplog: 1, size: new Double(1000) });
    expect(await fixture.json('local', { collStats: 'oplog.rs', scale: 1_048_576 })).toMatchObject({ maxSize: 1000 });
  });
});
