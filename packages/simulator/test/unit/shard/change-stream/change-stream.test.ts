import { describe, expect, it } from 'vitest';
import type { Timestamp } from 'bson';
import { decodeDocument } from '../../../../src/bson/decode.js';
import type { ShardStream, StreamStart } from '../../../../src/shard/change-stream/shard-stream.js';
import { failureOf, long, lsid, plain, ShardFixture } from '../shard-fixture.js';
import { streamStage } from './stream-stage.js';
import { VersionedShard } from '../versioned-shard.js';

interface Event {
  _id: { _data: string };
  operationType: string;
  documentKey?: unknown;
  [field: string]: unknown;
}

function openAt(fixture: ShardFixture, time: Timestamp, merged = false): ShardStream {
  return open(fixture, { kind: 'time', clusterTime: time }, merged);
}

function open(fixture: ShardFixture, start: StreamStart, merged = false): ShardStream {
  return fixture.shard.access.openStream({
    scope: { kind: 'cluster' },
    start,
    stage: streamStage(),
    merged,
    pipeline: [],
  });
}

function events(stream: ShardStream, max = 1000): Event[] {
  return stream.take(max, 1 << 24).map((event) => plain(decodeDocument(event.bytes)) as Event);
}

describe('change streams', () => {
  it.each([
    ['8.0', { sk: -1, _id: 1 }],
    ['5.0', { _id: 1 }],
  ] as const)(
    'describe writes; a direct stream keys an insert by the shard key from 6.0 on: %s',
    async (release, key) => {
      using fixture = new VersionedShard(release);
      const start = fixture.now();
      fixture.shard.access.setShardKey('db.c', new Map([['sk', null]]));
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1, sk: -1, a: [1, 2, 3] }] });
      await fixture.run('db', {
        update: 'c',
        updates: [
          { q: { _id: 1 }, u: { $set: { 'a.1': 20, b: 1 } } },
          { q: { _id: 1 }, u: { $set: { b: 1 } } },
        ],
      });
      await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { sk: -1, r: true } }] });
      await fixture.run('db', { delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1 }] });
      const direct = events(openAt(fixture, start));
      expect(direct.map((event) => [event.operationType, event.documentKey])).toEqual([
        ['insert', key],
        ['update', { sk: -1, _id: 1 }],
        ['replace', { sk: -1, _id: 1 }],
        ['delete', { sk: -1, _id: 1 }],
      ]);
      expect(direct[1]?.['updateDescription']).toEqual({
        updatedFields: { b: 1, 'a.1': 20 },
        removedFields: [],
        truncatedArrays: [],
      });
      expect(direct[2]?.['fullDocument']).toEqual({ _id: 1, sk: -1, r: true });
      expect(Object.keys(direct[0] ?? {}).filter((name) => name !== 'wallTime')).toEqual([
        '_id',
        'operationType',
        'clusterTime',
        'fullDocument',
        'ns',
        'documentKey',
      ]);
      expect(events(openAt(fixture, start, true))[0]?.documentKey).toEqual({ sk: -1, _id: 1 });
    },
  );

  it('show what a capped collection drops, after the insert that it makes room for', async () => {
    using fixture = new ShardFixture();
    const start = fixture.now();
    await fixture.run('db', { create: 'c', capped: true, size: 100_000, max: 2 });
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3, 4].map((_id) => ({ _id })) });
    expect(events(openAt(fixture, start)).map((event) => [event.operationType, event.documentKey])).toEqual([
      ['insert', { _id: 1 }],
      ['insert', { _id: 2 }],
      ['insert', { _id: 3 }],
      ['delete', { _id: 1 }],
      ['insert', { _id: 4 }],
      ['delete', { _id: 2 }],
    ]);
  });

  it('resume behind any event, also inside a transaction, and at any time', async () => {
    using fixture = new ShardFixture();
    const start = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }] });
    const inside = { lsid: lsid('T'), txnNumber: long(1), autocommit: false };
    await fixture.run('db', { insert: 'c', documents: [{ _id: 3 }, { _id: 4 }], ...inside, startTransaction: true });
    await fixture.run('admin', { commitTransaction: 1, ...inside });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 5 }] });
    const all = events(openAt(fixture, start));
    expect(all.map(({ documentKey }) => documentKey)).toEqual([1, 2, 3, 4, 5].map((_id) => ({ _id })));
    expect(Object.keys(all[3] ?? {}).slice(0, 3)).toEqual(['txnNumber', 'lsid', '_id']);
    for (const [at, event] of all.entries()) {
      const resumed = events(open(fixture, { kind: 'token', token: event._id._data, afterInvalidate: false }));
      expect(resumed).toEqual(all.slice(at + 1));
    }
    const one = openAt(fixture, start);
    expect(all.map(() => events(one, 1)[0])).toEqual(all);
  });

  it.each([
    ['8.0', /^82[0-9A-F]{16}2B0429296E1404$/],
    ['5.0', /^82[0-9A-F]{16}2B0229296E04$/],
  ] as const)('give a token for every batch that resumes without loss or repetition: %s', async (release, token0) => {
    using fixture = new VersionedShard(release);
    const pipeline = [{ $changeStream: { allChangesForCluster: true } }];
    const opened = await fixture.json('admin', { aggregate: 1, pipeline, cursor: { batchSize: 0 } });
    const { id, postBatchResumeToken } = opened['cursor'] as {
      id: { $numberLong: string };
      postBatchResumeToken: { _data: string };
    };
    expect(postBatchResumeToken._data).toMatch(token0);
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    const first = await fixture.json('admin', {
      getMore: long(BigInt(id.$numberLong)),
      collection: '$cmd.aggregate',
      maxTimeMS: 10,
    });
    const batch = first['cursor'] as { nextBatch: Event[]; postBatchResumeToken: { _data: string } };
    expect(batch.nextBatch).toHaveLength(1);
    expect(batch.postBatchResumeToken).toEqual(batch.nextBatch[0]?._id);
    await fixture.run('admin', { appendOplogNote: 1, data: { n: 1 } });
    const idle = await fixture.json('admin', {
      getMore: long(BigInt(id.$numberLong)),
      collection: '$cmd.aggregate',
      maxTimeMS: 10,
    });
    const token = (idle['cursor'] as { postBatchResumeToken: { _data: string } }).postBatchResumeToken;
    expect(token._data > batch.postBatchResumeToken._data).toBe(true);
    await fixture.run('db', { insert: 'c', documents: [{ _id: 2 }] });
    const resumed = await fixture.found('admin', {
      aggregate: 1,
      pipeline: [{ $changeStream: { allChangesForCluster: true, resumeAfter: token } }],
      cursor: {},
    });
    expect(resumed).toEqual([expect.objectContaining({ documentKey: { _id: 2 } })]);
  });

  it('wake up for an event that comes while they wait', async () => {
    using fixture = new ShardFixture();
    const opened = await fixture.json('db', { aggregate: 'c', pipeline: [{ $changeStream: {} }], cursor: {} });
    const { id } = opened['cursor'] as { id: { $numberLong: string } };
    const waiting = fixture.json('db', { getMore: long(BigInt(id.$numberLong)), collection: 'c', maxTimeMS: 20_000 });
    await fixture.run('db', { insert: 'other', documents: [{ _id: 0 }] });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    expect(((await waiting)['cursor'] as { nextBatch: Event[] }).nextBatch).toHaveLength(1);
  });

  it('filter by match without looking into documents, and through documents', async () => {
    using fixture = new ShardFixture();
    const start = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3, 4].map((_id) => ({ _id, v: _id * 10 })) });
    const read = (match: unknown): Promise<unknown[]> =>
      fixture.found('admin', {
        aggregate: 1,
        pipeline: [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: start } }, { $match: match }],
        cursor: {},
      });
    const fraction = await read({
      $expr: { $and: [{ $gte: ['$documentKey._id', 2] }, { $lt: ['$documentKey._id', 4] }] },
    });
    expect(fraction.map((event) => (event as Event).documentKey)).toEqual([{ _id: 2 }, { _id: 3 }]);
    expect(await read({ 'fullDocument.v': 40 })).toHaveLength(1);
    expect(await read({ 'ns.coll': 'c', operationType: 'insert' })).toHaveLength(4);
  });

  it('show renames and drops, and end with what they watch', async () => {
    using fixture = new ShardFixture();
    const start = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    await fixture.run('admin', { renameCollection: 'db.c', to: 'db.d' });
    await fixture.run('db', { drop: 'd' });
    await fixture.run('db', { create: 'e' });
    await fixture.run('db', { dropDatabase: 1 });
    expect(events(openAt(fixture, start)).map(({ operationType }) => operationType)).toEqual([
      'insert',
      'rename',
      'drop',
      'drop',
      'dropDatabase',
    ]);
    const stream = (name: unknown): Promise<unknown[]> =>
      fixture.found('db', {
        aggregate: name,
        pipeline: [{ $changeStream: { startAtOperationTime: start } }],
        cursor: {},
      });
    expect((await stream('c')).map((event) => (event as Event).operationType)).toEqual([
      'insert',
      'rename',
      'invalidate',
    ]);
    expect((await stream(1)).map((event) => (event as Event).operationType)).toEqual([
      'insert',
      'rename',
      'drop',
      'drop',
      'dropDatabase',
      'invalidate',
    ]);
  });

  it('say when the oplog no longer reaches back, and refuse what is no token or option', async () => {
    using fixture = new ShardFixture({ oplogBytesMax: 2000 });
    const start = fixture.now();
    for (let _id = 0; _id < 50; _id += 1) await fixture.run('db', { insert: 'c', documents: [{ _id }] });
    const aggregate = (stage: Record<string, unknown>): Promise<unknown> =>
      fixture.run('admin', {
        aggregate: 1,
        pipeline: [{ $changeStream: { allChangesForCluster: true, ...stage } }],
        cursor: {},
      });
    expect(await failureOf(aggregate({ startAtOperationTime: start }))).toMatchObject({ code: 286 });
    expect(await failureOf(aggregate({ resumeAfter: { _data: 'nonsense' } }))).toMatchObject({ code: 9 });
    expect(await failureOf(aggregate({ nonsense: true }))).toMatchObject({ code: 40415 });
  });

  it('refuse expanded events until 5.0', async () => {
    using fixture = new VersionedShard('5.0');
    const pipeline = [{ $changeStream: { allChangesForCluster: true, showExpandedEvents: true } }];
    expect(await failureOf(fixture.run('admin', { aggregate: 1, pipeline, cursor: {} }))).toMatchObject({
      code: 40415,
    });
  });
});
