import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../../src/bson/decode.js';
import { decodeResumeToken } from '../../../../src/bson/resume-token.js';
import type { ReleaseSeries } from '../../../../src/node/server-version.js';
import { eventsAfter, eventsOf } from './stream-events.js';
import { failureOf, plain, VersionedShard } from '../versioned-shard.js';

async function define(fixture: VersionedShard): Promise<void> {
  await fixture.run('db', { create: 'c', changeStreamPreAndPostImages: { enabled: true } });
  await fixture.run('db', {
    createIndexes: 'c',
    indexes: [
      { key: { a: 1 }, name: 'a_1' },
      { key: { b: 1 }, name: 'b_1' },
    ],
  });
  await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 1 }] });
  await fixture.run('db', {
    createIndexes: 'c',
    indexes: [
      { key: { x: 1 }, name: 'x_1' },
      { key: { y: 1 }, name: 'y_1' },
    ],
  });
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
      [
        'createIndexes',
        {
          indexes: [
            { v: 2, key: { x: 1 }, name: 'x_1' },
            { v: 2, key: { y: 1 }, name: 'y_1' },
          ],
        },
      ],
      ['modify', { index: { name: 'a_1', hidden: true } }],
      ['dropIndexes', { indexes: [{ v: 2, key: { b: 1 }, name: 'b_1' }] }],
      ['create', { viewOn: 'c', pipeline: [{ $match: { a: 1 } }] }],
      ['modify', { viewOn: 'c', pipeline: [] }],
      ['drop', undefined],
      ['create', { idIndex: { v: 2, key: { _id: 1 }, name: '_id_' } }],
      ['rename', { to: { db: 'db', coll: 'd' }, dropTarget: expect.anything() as unknown }],
      ['drop', undefined],
    ]);
    expect(Object.keys(events[0] ?? {})).toEqual([
      '_id',
      'operationType',
      'clusterTime',
      'collectionUUID',
      'wallTime',
      'ns',
      'operationDescription',
    ]);
    expect(events[5]?.['stateBeforeChange']).toMatchObject({
      collectionOptions: { changeStreamPreAndPostImages: { enabled: true } },
      indexOptions: { hidden: false },
    });
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
      expect(await eventsAfter(fixture, _id, { showExpandedEvents: true })).toEqual(all.slice(at + 1));
    }
  });

  it('distinguish paths that look the same, from 6.1 on', async () => {
    const described = async (series: ReleaseSeries): Promise<unknown> => {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      await fixture.run('db', {
        insert: 'c',
        documents: [{ _id: 1, o: { '0': 1 }, l: [1, { '1': 2 }], plain: { x: 1 } }],
      });
      await fixture.run('db', {
        update: 'c',
        updates: [{ q: { _id: 1 }, u: { $set: { 'o.0': 2, 'l.0': 3, 'l.1.1': 4, 'plain.x': 5 } } }],
      });
      return (await eventsOf(fixture, from, { showExpandedEvents: true })).at(-1)?.['updateDescription'];
    };
    expect(await described('7.0')).toMatchObject({ disambiguatedPaths: { 'o.0': ['o', '0'], 'l.1.1': ['l', 1, '1'] } });
    expect(await described('6.0')).not.toHaveProperty('disambiguatedPaths');
  });
});

describe('events by version', () => {
  it('have a wall time from 6.0 and truncated arrays from 5.0', async () => {
    for (const [series, wallTime, truncatedArrays] of [
      ['4.4', false, false],
      ['5.0', false, true],
      ['6.0', true, true],
    ] as const) {
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
    for (const [series, version] of [
      ['5.0', 1],
      ['6.0', 1],
      ['7.0', 2],
      ['8.0', 2],
    ] as const) {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
      const [insert] = await eventsOf(fixture, from);
      const token = decodeResumeToken(insert?._id._data ?? '');
      expect(token.version).toBe(version);
      expect(plain(token.eventIdentifier as never)).toEqual(
        version === 1 ? { _id: 1 } : { operationType: 'insert', documentKey: { _id: 1 } },
      );
    }
  });

  it('are keyed by the whole shard key on a shard too from 6.0 on', async () => {
    for (const [series, key] of [
      ['5.0', { _id: 1 }],
      ['6.0', { sk: 5, _id: 1 }],
    ] as const) {
      using fixture = new VersionedShard(series);
      const from = fixture.now();
      fixture.shard.access.setShardKey('db.c', new Map([['sk', null]]));
      await fixture.run('db', { insert: 'c', documents: [{ _id: 1, sk: 5 }] });
      expect((await eventsOf(fixture, from))[0]?.['documentKey']).toEqual(key);
    }
  });

  it('resume after a token of the older format, and back', async () => {
    using fixture = new VersionedShard('6.0');
    const from = fixture.now();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }, { _id: 3 }] });
    const split = [{ $changeStreamSplitLargeEvent: {} }];
    const old = await eventsOf(fixture, from);
    const newer = await eventsAfter(fixture, old[0]?._id, {}, split);
    expect(newer.map(({ documentKey }) => documentKey)).toEqual([{ _id: 2 }, { _id: 3 }]);
    expect(newer.map(({ _id }) => decodeResumeToken(_id._data).version)).toEqual([2, 2]);
    const back = await eventsAfter(fixture, newer[0]?._id);
    expect(back.map(({ documentKey }) => documentKey)).toEqual([{ _id: 3 }]);
    expect(decodeResumeToken(back[0]?._id._data ?? '').version).toBe(1);
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
