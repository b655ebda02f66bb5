import { Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../src/bson/decode.js';
import { decodeResumeToken } from '../../../src/bson/resume-token.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';
import { failureOf, plain, VersionedShard } from './versioned-shard.js';

type Event = Record<string, unknown> & { _id: { _data: string }; operationType: string };

async function eventsOf(fixture: VersionedShard, from: Timestamp, stage: Record<string, unknown> = {}, rest: Record<string, unknown>[] = []): Promise<Event[]> {
  const pipeline = [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: from, ...stage } }, ...rest];
  return (await fixture.found('admin', { aggregate: 1, pipeline, cursor: {} })) as Event[];
}

async function define(fixture: VersionedShard): Promise<void> {
  await fixture.run('db', { create: 'c', changeStreamPreAndPostImages: { enabled: true } });
  await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }, { key: { b: 1 }, name: 'b_1' }] });
  await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 1 }] });
  await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { x: 1 }, name: 'x_1' }, { key: { y: 1 }, name: 'y_1' }] });
  await fixture.run('db', { collMod: 'c', index: { keyPattern: { a: 1 }, hidden: true } });
  await fixture.run('db', { dropIndexes: 'c', index: 'b_1' });
  await fixture.run('db', { create: 'v', viewOn: 'c', pipeline: [{ $match: { a: 1 } }] });
  await fixture.run('db', { collMod: 'v', viewOn: 'c', pipeline: [] });
  await fixture.run('db', { drop: 'v' });
  await fixture.run('db', { create: 'd' });
  await fixture.run('admin', { renameCollection: 'db.c', to: 'db.d', dropTarget: true });
  await fixture.run('db', { drop: 'd' });
}

describe('expanded events', () => {
  it('are refused before 6.0', async () => {
    for (const series of ['4.4', '5.0'] as ReleaseSeries[]) {
      using fixture = new VersionedShard(series);
      expect(await failureOf(eventsOf(fixture, fixture.now(), { showExpandedEvents: true }))).toEqual({
        code: 40415,
        message: "BSON field '$changeStream.showExpandedEvents' is an unknown field.",
      });
    }
  });

  it('show definitions with what they changed, and views as collections of their own', async () => {
    using fixture = new VersionedShard('7.0');
    const from = fixture.now();
    await define(fixture);
    const events = await eventsOf(fixture, from, { showExpandedEvents: true });
    expect(events.map(({ operationType, operationDescription }) => [operationType, operationDescription])).toEqual([
      ['create', { changeStreamPreAndPostImages: { enabled: true }, idIndex: { v: 2, key: { _id: 1 }, name: '_id_' } }],
      ['createIndexes', { indexes: [{ v: 2, key: { a: 1 }, name: 'a_1' }] }],
      ['createIndexes', { indexes: [{ v: 2, key: { b: 1 }, name: 'b_1' }] }],
      ['insert', undefined],
      ['createIndexes', { indexes: [{ v: 2, key: { x: 1 }, name: 'x_1' }, { v: 2, key: { y: 1 }, name: 'y_1' }] }],
      ['modify', { index: { name: 'a_1', hidden: true } }],
      ['dropIndexes', { indexes: [{ v: 2, key: { b: 1 }, name: 'b_1' }] }],
      ['create', { viewOn: 'c', pipeline: [{ $match: { a: 1 } }] }],
      ['modify', { viewOn: 'c', pipeline: [] }],
      ['drop', undefined],
      ['create', { idIndex: { v: 2, key: { _id: 1 }, name: '_id_' } }],
      ['rename', { to: { db: 'db', coll: 'd' }, dropTarget: expect.anything() as unknown }],
      ['drop', undefined],
    ]);
    expect(Object.keys(events[0] ?? {})).toEqual(['_id', 'operationType', 'clusterTime', 'collectionUUID', 'wallTime', 'ns', 'operationDescription']);
    expect(events[5]?.['stateBeforeChange']).toMatchObject({ collectionOptions: { changeStreamPreAndPostImages: { enabled: true } }, indexOptions: { hidden: false } });
    expect(events[7]?.['ns']).toEqual({ db: 'db', coll: 'v' });
    expect(events[7]).not.toHaveProperty('collectionUUID');
    expect(Object.keys(events[11] ?? {})[0]).toBe('to');
    expect(await eventsOf(fixture, from)).toHaveLength(3);
  });

  it('resume behind any event', async () => {
    using fixture = new VersionedShard('6.0');
    const from = fixture.now();
    await define(fixture);
    const all = await eventsOf(fixture, from, { showExpandedEvents: true });
    for (const [at, { _id }] of all.entries()) {
      const pipeline = [{ $changeStream: { allChangesForCluster: true, showExpandedEvents: true, resumeAfter: _id } }];
      expect(await fixture.found('admin', { aggregate: 1, pipeline, cursor: {} })).toEqual(all.slice(at + 1));
    }
  });

  it('tell paths apart that look the same, from 6.1 on', async () => {
    const described = async (series: ReleaseSeries): Promise<unknown> => {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1, o: { '0': 1 }, l: [1, { '1': 2 }], plain: { x: 1 } }] });
      await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { 'o.0': 2, 'l.0': 3, 'l.1.1': 4, 'plain.x': 5 } } }] });
      return ((await eventsOf(fixture, from, { showExpandedEvents: true })).at(-1) ?? {})['updateDescription'];
    };
    expect(await described('7.0')).toMatchObject({ disambiguatedPaths: { 'o.0': ['o', '0'], 'l.1.1': ['l', 1, '1'] } });
    expect(await described('6.0')).not.toHaveProperty('disambiguatedPaths');
  });
});

describe('events by version', () => {
  it('have a wall time from 6.0 and truncated arrays from 5.0', async () => {
    for (const [series, wallTime, truncatedArrays] of [['4.4', false, false], ['5.0', false, true], ['6.0', true, true]] as const) {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
      await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { a: 1 } } }] });
      const [insert, update] = await eventsOf(fixture, from);
      expect('wallTime' in (insert ?? {})).toBe(wallTime);
      expect('truncatedArrays' in (update?.['updateDescription'] as object)).toBe(truncatedArrays);
    }
  });

  it('carry tokens of version 2 from 7.0 on, with the operation in them', async () => {
    for (const [series, version] of [['5.0', 1], ['6.0', 1], ['7.0', 2], ['8.0', 2]] as const) {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
      const [insert] = await eventsOf(fixture, from);
      const token = decodeResumeToken(insert?._id._data ?? '');
      expect(token.version).toBe(version);
      expect(plain(token.eventIdentifier as never)).toEqual(version === 1 ? { _id: 1 } : { operationType: 'insert', documentKey: { _id: 1 } });
    }
  });

  it('are keyed by the whole shard key on a shard too from 6.0 on', async () => {
    for (const [series, key] of [['5.0', { _id: 1 }], ['6.0', { sk: 5, _id: 1 }]] as const) {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      fixture.shard.setShardKey('db.c', new Map([['sk', null]]));
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1, sk: 5 }] });
      expect((await eventsOf(fixture, from))[0]?.['documentKey']).toEqual(key);
    }
  });

  it('go on behind a token of the older format, and back', async () => {
    using fixture = new VersionedShard('6.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }, { _id: 3 }] });
    const split = [{ $changeStreamSplitLargeEvent: {} }];
    const old = await eventsOf(fixture, from);
    const resumed = async (token: unknown, rest: Record<string, unknown>[]): Promise<Event[]> =>
      (await fixture.found('admin', { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true, resumeAfter: token } }, ...rest], cursor: {} })) as Event[];
    const newer = await resumed(old[0]?._id, split);
    expect(newer.map(({ documentKey }) => documentKey)).toEqual([{ _id: 2 }, { _id: 3 }]);
    expect(newer.map(({ _id }) => decodeResumeToken(_id._data).version)).toEqual([2, 2]);
    const back = await resumed(newer[0]?._id, []);
    expect(back.map(({ documentKey }) => documentKey)).toEqual([{ _id: 3 }]);
    expect(decodeResumeToken(back[0]?._id._data ?? '').version).toBe(1);
  });
});

describe('pre- and post-images', () => {
  const images = { fullDocumentBeforeChange: 'whenAvailable', fullDocument: 'whenAvailable' };

  async function change(fixture: VersionedShard): Promise<void> {
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 1 }] });
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { v: 2 } } }] });
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { v: 3 } }] });
    await fixture.run('db', { delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1 }] });
  }

  it('come with changes of collections that keep them, and can be read', async () => {
    using fixture = new VersionedShard('6.0');
    await fixture.run('db', { create: 'c', changeStreamPreAndPostImages: { enabled: true } });
    const from = fixture.now();
    await change(fixture);
    const events = await eventsOf(fixture, from, images);
    expect(events.map(({ operationType, fullDocument, fullDocumentBeforeChange }) => [operationType, fullDocument, fullDocumentBeforeChange])).toEqual([
      ['insert', { _id: 1, v: 1 }, undefined],
      ['update', { _id: 1, v: 2 }, { _id: 1, v: 1 }],
      ['replace', { _id: 1, v: 3 }, { _id: 1, v: 2 }],
      ['delete', undefined, { _id: 1, v: 3 }],
    ]);
    expect(Object.keys(events[1] ?? {}).at(-1)).toBe('fullDocumentBeforeChange');
    const kept = (await fixture.found('config', { find: 'system.preimages' })) as { preImage: unknown }[];
    expect(kept.map(({ preImage }) => preImage)).toEqual([{ _id: 1, v: 1 }, { _id: 1, v: 2 }, { _id: 1, v: 3 }]);
  });

  it('are null where they are not kept, and an error where they are required', async () => {
    using fixture = new VersionedShard('6.0');
    const from = fixture.now();
    await change(fixture);
    const events = await eventsOf(fixture, from, images);
    expect(events.map(({ fullDocument, fullDocumentBeforeChange }) => [fullDocument, fullDocumentBeforeChange])).toEqual([
      [{ _id: 1, v: 1 }, undefined],
      [null, null],
      [{ _id: 1, v: 3 }, null],
      [undefined, null],
    ]);
    expect(await failureOf(eventsOf(fixture, from, { fullDocumentBeforeChange: 'required' }))).toMatchObject({ code: 47 });
    expect((await failureOf(eventsOf(fixture, from, { fullDocument: 'required' }))).message).toContain(
      'configured to require a post-image for all update events, but the post-image was not found for event: {operationType: "update"',
    );
  });

  it('expire, and are of other kinds before 6.0', async () => {
    using fixture = new VersionedShard('5.0');
    await fixture.run('db', { create: 'c', recordPreImages: true });
    const from = fixture.now();
    await change(fixture);
    expect((await eventsOf(fixture, from, { fullDocumentBeforeChange: 'required' })).at(-1)?.['fullDocumentBeforeChange']).toEqual({ _id: 1, v: 3 });
    expect(await failureOf(eventsOf(fixture, from, images))).toMatchObject({ code: 40575 });
  });
});

describe('large events', () => {
  const big = 'x'.repeat(9 * 1024 * 1024);

  async function grow(fixture: VersionedShard): Promise<Timestamp> {
    await fixture.run('db', { create: 'c', changeStreamPreAndPostImages: { enabled: true } });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: big }] });
    const from = fixture.now();
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { v: `${big}y` } }] });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 2 }] });
    return new Timestamp({ t: from.t, i: from.i + 1 });
  }

  it('cannot be shown as they are', async () => {
    using fixture = new VersionedShard('7.0');
    const from = await grow(fixture);
    expect(await failureOf(eventsOf(fixture, from, { fullDocumentBeforeChange: 'required' }))).toMatchObject({ code: 10334 });
  });

  it('are split, and resume behind each part', async () => {
    using fixture = new VersionedShard('7.0');
    const from = await grow(fixture);
    const split = [{ $changeStreamSplitLargeEvent: {} }];
    const cursor = await fixture.opened('admin', [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: from, fullDocumentBeforeChange: 'required' } }, ...split]);
    const parts: Event[] = [];
    for (let batch = await cursor.more(); parts.length < 3; batch = await cursor.more()) parts.push(...(batch as Event[]));
    expect(parts.map(({ splitEvent }) => splitEvent)).toEqual([{ fragment: 1, of: 2 }, { fragment: 2, of: 2 }, undefined]);
    expect(parts.slice(0, 2).map((part) => Object.keys(part).slice(-1))).toEqual([['fullDocument'], ['fullDocumentBeforeChange']]);
    expect(parts.map(({ _id }) => decodeResumeToken(_id._data).fragmentNum)).toEqual([0, 1, undefined]);
    const after = async (token: unknown, rest: Record<string, unknown>[]): Promise<Event[]> =>
      (await fixture.found('admin', { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true, resumeAfter: token, fullDocumentBeforeChange: 'required' } }, ...rest], cursor: {} })) as Event[];
    expect((await after(parts[0]?._id, split)).map(({ splitEvent }) => splitEvent)).toEqual([{ fragment: 2, of: 2 }, undefined]);
    expect((await after(parts[1]?._id, split)).map(({ documentKey }) => documentKey)).toEqual([{ _id: 2 }]);
    expect(await failureOf(after(parts[0]?._id, []))).toMatchObject({ code: 280 });
    expect(await failureOf(after(parts[0]?._id, [{ $project: { fullDocument: 0 } }, ...split]))).toMatchObject({ code: 280 });
  });

  it('need the stage to be empty, last and known', async () => {
    using fixture = new VersionedShard('7.0');
    const from = fixture.now();
    expect(await failureOf(eventsOf(fixture, from, {}, [{ $changeStreamSplitLargeEvent: { a: 1 } }]))).toMatchObject({ code: 7182800 });
    expect(await failureOf(eventsOf(fixture, from, {}, [{ $changeStreamSplitLargeEvent: {} }, { $match: {} }]))).toMatchObject({ code: 7182802 });
    using old = new VersionedShard('5.0');
    expect(await failureOf(eventsOf(old, old.now(), {}, [{ $changeStreamSplitLargeEvent: {} }]))).toMatchObject({ code: 40324 });
  });
});

describe('the stages behind a stream', () => {
  it('may change everything but the token', async () => {
    using fixture = new VersionedShard('5.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 2 }] });
    const allowed: Record<string, unknown>[] = [
      { $project: { operationType: 1 } },
      { $addFields: { more: '$fullDocument.v' } },
      { $unset: 'fullDocument' },
      { $replaceRoot: { newRoot: { _id: '$_id', v: '$fullDocument.v' } } },
      { $redact: '$$KEEP' },
    ];
    for (const stage of allowed) expect(await eventsOf(fixture, from, {}, [stage])).toHaveLength(1);
    for (const stage of [{ $project: { _id: 0 } }, { $addFields: { '_id.x': 1 } }, { $replaceWith: { v: 1 } }, { $unset: '_id' }]) {
      const failure = await failureOf(eventsOf(fixture, from, {}, [stage]));
      expect(failure.code).toBe(280);
      expect(failure.message).toContain('Encountered an event whose _id field, which contains the resume token, was modified by the pipeline');
    }
    expect(await failureOf(eventsOf(fixture, from, {}, [{ $group: { _id: 1 } }]))).toEqual({ code: 20, message: '$group is not permitted in a $changeStream pipeline' });
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
    expect(await open('db', 1, { allChangesForCluster: true })).toMatchObject({ code: 72 });
    expect(await open('db', 'c', { resumeAfter: token, startAfter: token })).toMatchObject({ code: 50865 });
    expect(await open('db', 'c', { resumeAfter: token, startAtOperationTime: fixture.now() })).toMatchObject({ code: 40674 });
    expect(await open('db', 'c', { resumeAfter: {} })).toMatchObject({ code: 40647 });
    expect(await open('db', 'c', { resumeAfter: { _data: '8263000000000000012B0429296E1404' } })).toMatchObject({ code: 50795 });
  });

  it('must be at the event of the token', async () => {
    using fixture = new VersionedShard('5.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }] });
    const [first] = await eventsOf(fixture, from);
    const other = (first?._id._data ?? '').replace(/2B020004$/, '290004');
    const failure = await failureOf(fixture.found('admin', { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true, resumeAfter: { _data: other } } }], cursor: {} }));
    expect(failure).toMatchObject({ code: 280 });
    expect(failure.message).toContain('PlanExecutor error during aggregation :: caused by :: cannot resume stream; the resume token was not found. {_data: "');
  });

  it('goes on behind an invalidate event with startAfter only', async () => {
    using fixture = new VersionedShard('5.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    await fixture.run('db', { drop: 'c' });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 2 }] });
    const stream = (stage: Record<string, unknown>): Promise<unknown[]> => fixture.found('db', { aggregate: 'c', pipeline: [{ $changeStream: stage }], cursor: {} });
    const ended = (await stream({ startAtOperationTime: from })) as Event[];
    expect(ended.map(({ operationType }) => operationType)).toEqual(['insert', 'drop', 'invalidate']);
    const invalidation = ended.at(-1)?._id;
    expect(await failureOf(stream({ resumeAfter: invalidation }))).toMatchObject({ code: 260 });
    expect(((await stream({ startAfter: invalidation })) as Event[]).map(({ documentKey }) => documentKey)).toEqual([{ _id: 2 }]);
  });
});

describe('an oplog that has lost history', () => {
  it('refuses a start that is gone with 286, and an open stream that it has overrun with 136', async () => {
    using fixture = new VersionedShard('5.0', { oplogBytesMax: 4000 });
    const from = fixture.now();
    const behind = await fixture.opened('admin', [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: from } }]);
    const running = await fixture.opened('admin', [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: from } }], 1);
    for (let _id = 0; _id < 100; _id += 1) await fixture.run('db', { insert: 'c', documents: [{ _id }] });
    expect(await failureOf(behind.more())).toMatchObject({ code: 286, message: expect.stringContaining('Executor error during getMore :: caused by :: Resume of change stream') as unknown });
    expect(await failureOf(running.more())).toMatchObject({ code: 136 });
    expect(await failureOf(eventsOf(fixture, from))).toMatchObject({ code: 286 });
  });
});

it('reads a recorded event of every kind back as it was written', async () => {
  using fixture = new VersionedShard('8.0');
  const from = fixture.now();
  await define(fixture);
  const stream = fixture.stream(from);
  for (const event of stream.take(1000, 1 << 24)) {
    const id = decodeDocument(event.bytes).get('_id');
    expect(id instanceof Map && id.get('_data')).toBe(event.token);
    expect(decodeResumeToken(event.token).clusterTime).toEqual(event.clusterTime);
  }
});
