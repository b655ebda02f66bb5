import { Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeResumeToken } from '../../../../src/bson/resume-token.js';
import { eventsAfter, eventsOf, type StreamEventJson } from './stream-events.js';
import { failureOf, VersionedShard } from '../versioned-shard.js';

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
    expect(await failureOf(eventsOf(fixture, from, { fullDocumentBeforeChange: 'required' }))).toMatchObject({
      code: 10334,
    });
  });

  it('are split, and resume behind each part', async () => {
    using fixture = new VersionedShard('7.0');
    const from = await grow(fixture);
    const split = [{ $changeStreamSplitLargeEvent: {} }];
    const cursor = await fixture.opened('admin', [
      {
        $changeStream: { allChangesForCluster: true, startAtOperationTime: from, fullDocumentBeforeChange: 'required' },
      },
      ...split,
    ]);
    const parts: StreamEventJson[] = [];
    for (let batch = await cursor.more(); parts.length < 3; batch = await cursor.more())
      parts.push(...(batch as StreamEventJson[]));
    expect(parts.map(({ splitEvent }) => splitEvent)).toEqual([
      { fragment: 1, of: 2 },
      { fragment: 2, of: 2 },
      undefined,
    ]);
    expect(parts.slice(0, 2).map((part) => Object.keys(part).slice(-1))).toEqual([
      ['fullDocument'],
      ['fullDocumentBeforeChange'],
    ]);
    expect(parts.map(({ _id }) => decodeResumeToken(_id._data).fragmentNum)).toEqual([0, 1, undefined]);
    const after = (token: unknown, rest: Record<string, unknown>[]): Promise<StreamEventJson[]> =>
      eventsAfter(fixture, token, { fullDocumentBeforeChange: 'required' }, rest);
    expect((await after(parts[0]?._id, split)).map(({ splitEvent }) => splitEvent)).toEqual([
      { fragment: 2, of: 2 },
      undefined,
    ]);
    expect((await after(parts[1]?._id, split)).map(({ documentKey }) => documentKey)).toEqual([{ _id: 2 }]);
    expect(await failureOf(after(parts[0]?._id, []))).toMatchObject({ code: 280 });
    expect(await failureOf(after(parts[0]?._id, [{ $project: { fullDocument: 0 } }, ...split]))).toMatchObject({
      code: 280,
    });
  });

  it('need the stage to be empty, last and known', async () => {
    using fixture = new VersionedShard('7.0');
    const from = fixture.now();
    expect(await failureOf(eventsOf(fixture, from, {}, [{ $changeStreamSplitLargeEvent: { a: 1 } }]))).toMatchObject({
      code: 7182800,
    });
    expect(
      await failureOf(eventsOf(fixture, from, {}, [{ $changeStreamSplitLargeEvent: {} }, { $match: {} }])),
    ).toMatchObject({ code: 7182802 });
    using old = new VersionedShard('5.0');
    expect(await failureOf(eventsOf(old, old.now(), {}, [{ $changeStreamSplitLargeEvent: {} }]))).toMatchObject({
      code: 40324,
    });
  });
});
