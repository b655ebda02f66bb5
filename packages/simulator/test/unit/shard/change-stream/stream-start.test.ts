import { describe, expect, it } from 'vitest';
import { eventsAfter, eventsOf, type StreamEventJson } from './stream-events.js';
import { failureOf, VersionedShard } from '../versioned-shard.js';

describe('the stages behind a stream', () => {
  it('may change everything but the token', async () => {
    using fixture = new VersionedShard('5.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 2 }] });
    const allowed: Record<string, unknown>[] = [
      { $project: { operationType: 1 } },
      { $addFields: { more: '$fullDocument.v' } },
      { $unset: 'fullDocument' },
      { $replaceWith: { _id: '$_id', v: '$fullDocument.v' } },
      { $redact: '$$KEEP' },
    ];
    for (const stage of allowed) expect(await eventsOf(fixture, from, {}, [stage])).toHaveLength(1);
    for (const stage of [
      { $project: { _id: 0 } },
      { $addFields: { '_id.x': 1 } },
      { $replaceWith: { v: 1 } },
      { $unset: '_id' },
    ]) {
      const failure = await failureOf(eventsOf(fixture, from, {}, [stage]));
      expect(failure.code).toBe(280);
      expect(failure.message).toContain(
        'Encountered an event whose _id field, which contains the resume token, was modified by the pipeline',
      );
    }
    expect(await failureOf(eventsOf(fixture, from, {}, [{ $group: { _id: 1 } }]))).toEqual({
      code: 20,
      message: '$group is not permitted in a $changeStream pipeline',
    });
  });
});

describe('where a stream may start', () => {
  it('follows the server by place and option', async () => {
    using fixture = new VersionedShard('5.0');
    const open = (db: string, name: unknown, stage: Record<string, unknown>): Promise<{ code: number }> =>
      failureOf(fixture.run(db, { aggregate: name, pipeline: [{ $changeStream: stage }], cursor: {} }));
    const token = { _data: '8263000000000000012B0229296E04' };
    expect(await open('admin', 1, {})).toMatchObject({ code: 73 });
    expect(await open('local', 'x', {})).toMatchObject({ code: 73 });
    expect(await open('db', 'system.views', {})).toMatchObject({ code: 73 });
    await fixture.run('db', { create: 'v', viewOn: 'c' });
    expect(await open('db', 'v', {})).toMatchObject({ code: 166 });
    expect(await open('db', 1, { allChangesForCluster: true })).toMatchObject({ code: 72 });
    expect(await open('db', 'c', { resumeAfter: token, startAfter: token })).toMatchObject({ code: 50865 });
    expect(await open('db', 'c', { resumeAfter: token, startAtOperationTime: fixture.now() })).toMatchObject({
      code: 40674,
    });
    expect(await open('db', 'c', { resumeAfter: {} })).toMatchObject({ code: 40647 });
    expect(await open('db', 'c', { resumeAfter: { _data: '8263000000000000012B0429296E1404' } })).toMatchObject({
      code: 50795,
    });
  });

  it('must be at the event of the token', async () => {
    using fixture = new VersionedShard('5.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }] });
    const [first] = await eventsOf(fixture, from);
    const other = (first?._id._data ?? '').replace(/2B020004$/, '290004');
    const failure = await failureOf(eventsAfter(fixture, { _data: other }));
    expect(failure).toMatchObject({ code: 280 });
    expect(failure.message).toContain(
      'PlanExecutor error during aggregation :: caused by :: cannot resume stream; the resume token was not ' +
        'found. {_data: "',
    );
  });

  it('resumes after an invalidate event with startAfter only', async () => {
    using fixture = new VersionedShard('5.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    await fixture.run('db', { drop: 'c' });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 2 }] });
    const stream = (stage: Record<string, unknown>): Promise<unknown[]> =>
      fixture.found('db', { aggregate: 'c', pipeline: [{ $changeStream: stage }], cursor: {} });
    const ended = (await stream({ startAtOperationTime: from })) as StreamEventJson[];
    expect(ended.map(({ operationType }) => operationType)).toEqual(['insert', 'drop', 'invalidate']);
    const invalidation = ended.at(-1)?._id;
    expect(await failureOf(stream({ resumeAfter: invalidation }))).toMatchObject({ code: 260 });
    expect(
      ((await stream({ startAfter: invalidation })) as StreamEventJson[]).map(({ documentKey }) => documentKey),
    ).toEqual([{ _id: 2 }]);
  });
});

describe('an oplog that has lost history', () => {
  it('refuses a start that is gone with 286, and an open stream that it has overrun with 136', async () => {
    using fixture = new VersionedShard('5.0', { oplogBytesMax: 4000 });
    const from = fixture.now();
    const behind = await fixture.opened('admin', [
      { $changeStream: { allChangesForCluster: true, startAtOperationTime: from } },
    ]);
    const running = await fixture.opened(
      'admin',
      [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: from } }],
      1,
    );
    for (let _id = 0; _id < 100; _id += 1) await fixture.run('db', { insert: 'c', documents: [{ _id }] });
    expect(await failureOf(behind.more())).toMatchObject({
      code: 286,
      message: expect.stringContaining(
        'Executor error during getMore :: caused by :: Resume of change stream',
      ) as unknown,
    });
    expect(await failureOf(running.more())).toMatchObject({ code: 136 });
    expect(await failureOf(eventsOf(fixture, from))).toMatchObject({ code: 286 });
  });
});
