import { Long } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseEvent } from '../../../src/apply/event.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { modelUuid } from '../model/change-events.js';
import { collectionOf, rawOf } from '../model/parts.js';
import { documentOf } from '../model/raw-document.js';
import { DispatcherFixture, event, step } from './dispatcher-fixture.js';
import { bringTo } from '../model/partition-states.js';

let fixture: DispatcherFixture;

beforeEach(() => {
  fixture = new DispatcherFixture();
});

describe('the routed position', () => {
  it('lies below the time of the token, which is exclusive', () => {
    const dispatcher = fixture.dispatcherOf();
    expect(dispatcher.position).toBe(9n);
    dispatcher.route(step([event(20n)], 20n));
    expect(dispatcher.position).toBe(19n);
  });

  it('never goes back', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.route(step([], 20n));
    dispatcher.route(step([], 15n));
    expect(dispatcher.position).toBe(19n);
  });
});

describe('an event of a partition', () => {
  it('that waits is dropped, and no read may be earlier', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.route(step([event(20n)], 20n));
    expect(fixture.routed).toEqual([]);
    expect(fixture.partition.dropped).toBe(20n);
    expect(fixture.budget.used).toBe(0);
  });

  it('that waits dirty removes its document unless it is an insert', () => {
    const dispatcher = fixture.dispatcherOf();
    fixture.partition.markDirty();
    const document = documentOf([
      ['_id', rawOf(1)],
      ['sk', rawOf(1)],
    ]);
    dispatcher.route(step([event(20n), event(21n, { operation: 'insert', document })], 30n));
    expect(fixture.routed.map(({ purpose, event: { time } }) => [time, purpose])).toEqual([[20n, 'remove']]);
  });

  it.each(['starting', 'copying', 'done'] as const)('at or below the read time is dropped while it is %s', (state) => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, state, 20n);
    dispatcher.route(step([event(19n), event(20n)], 20n));
    expect(fixture.routed).toEqual([]);
    expect(fixture.partition.buffered).toEqual([]);
  });

  it.each(['starting', 'copying'] as const)(
    'above the read time is buffered while it is %s, and applied in order afterwards',
    (state) => {
      const dispatcher = fixture.dispatcherOf();
      bringTo(fixture.partition, state, 20n);
      dispatcher.route(step([event(21n), event(22n)], 30n));
      expect(fixture.routed).toEqual([]);
      if (state === 'starting') fixture.partition.startCopying();
      fixture.partition.endReading(20n);
      fixture.partition.close();
      const buffered = fixture.partition.finish();
      expect(buffered.map(({ time }) => time)).toEqual([21n, 22n]);
      expect(fixture.budget.used).toBeGreaterThan(0);
      const used = fixture.budget.used;
      dispatcher.release(fixture.table, buffered);
      expect(fixture.routedTimes).toEqual([21n, 22n]);
      expect(fixture.budget.used).toBe(used);
    },
  );

  it('that starts dirty removes documents up to its read time', () => {
    const dispatcher = fixture.dispatcherOf();
    fixture.partition.markDirty();
    bringTo(fixture.partition, 'starting', 20n);
    dispatcher.route(step([event(20n)], 20n));
    expect(fixture.routed.map(({ purpose }) => purpose)).toEqual(['remove']);
  });

  it('that is done, above its read time, goes to a worker with the end of the read', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done', 20n, 25n);
    dispatcher.route(step([event(21n)], 30n));
    expect(fixture.routed[0]?.bounds).toEqual({ watermark: 0n, readEnd: 25n });
    expect(fixture.routed[0]?.purpose).toBe('apply');
  });

  it('is buffered with a copy of its bytes, so that its reply can be freed', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'copying', 20n);
    const bytes = event(21n, { operation: 'update', updated: [['f', rawOf(1)]] });
    const before = parseEvent(Buffer.from(bytes));
    dispatcher.route(step([bytes], 22n));
    bytes.fill(0);
    expect(fixture.partition.buffered).toMatchObject([before.kind === 'data' ? before.event : {}]);
    expect(fixture.partition.buffered[0]?.documentKey.buffer.byteLength).toBeLessThan(bytes.length);
  });

  it('that is abandoned drops its buffered events, or removes their documents when dirty', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'copying', 20n);
    dispatcher.route(step([event(21n)], 30n));
    fixture.partition.markDirty();
    dispatcher.release(fixture.table, fixture.partition.abandon());
    expect(fixture.routed.map(({ purpose }) => purpose)).toEqual(['remove']);
    expect(fixture.partition.dropped).toBe(21n);
  });
});

describe('an event of a bucket', () => {
  const ofOthers = { isSeries: true, owns: () => false };

  it('that took more measurements, whose key is its _id alone, goes to every task', () => {
    const dispatcher = fixture.dispatcherOf({}, collectionOf(ofOthers));
    bringTo(fixture.partition, 'done', 20n, 20n);
    dispatcher.route(step([event(21n), event(22n, { operation: 'delete' })], 30n));
    expect(fixture.routedTimes).toEqual([21n]);
  });

  it('that waits dirty is removed when it is deleted, and not when it changes: its key stays', () => {
    const dispatcher = fixture.dispatcherOf({}, collectionOf({ isSeries: true }));
    fixture.partition.markDirty();
    dispatcher.route(step([event(20n), event(21n, { operation: 'delete' })], 30n));
    expect(fixture.routed.map(({ purpose, event: { time } }) => [time, purpose])).toEqual([[21n, 'remove']]);
  });
});

describe('an event that another task owns', () => {
  it('is dropped when another shard owns the document', () => {
    const dispatcher = fixture.dispatcherOf({}, collectionOf({ owns: () => false }));
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(20n)], 30n));
    expect(fixture.routed).toEqual([]);
    expect(dispatcher.lastWrite).toBe(0n);
  });

  it('uses the document of an insert, whose document key on a shard is _id alone', () => {
    const asked: string[] = [];
    const owns: SyncedCollection['owns'] = (_bytes, source) => asked.push(source) > 0;
    const dispatcher = fixture.dispatcherOf({}, collectionOf({ owns }));
    dispatcher.route(
      step(
        [
          event(20n, {
            operation: 'insert',
            document: documentOf([
              ['_id', rawOf(1)],
              ['sk', rawOf(1)],
            ]),
          }),
          event(21n),
        ],
        30n,
      ),
    );
    expect(asked).toEqual(['document', 'documentKey']);
  });

  it('of an unknown collection is reported, unless its namespace is excluded', () => {
    fixture.dispatcherOf({ collections: new Map() }).route(step([event(20n)], 30n));
    fixture.dispatcherOf({ collections: new Map(), filter: { includes: () => false } }).route(step([event(20n)], 30n));
    expect(fixture.found).toEqual(['orders']);
  });
});

describe('a reopened stream', () => {
  it('re-reads the deltas of repeated times', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(20n)], 20n));
    dispatcher.route(step([], 20n, { reopened: true }));
    dispatcher.route(step([event(20n), event(21n)], 21n));
    expect(fixture.routed.map(({ bounds }) => bounds.watermark)).toEqual([0n, 20n, 20n]);
  });

  it('does not hold events after the commit time twice', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCommitTime(15n);
    dispatcher.route(step([event(18n), event(20n)], 20n));
    dispatcher.route(step([], 20n, { reopened: true }));
    dispatcher.route(step([event(20n)], 21n));
    expect(dispatcher.lateWrites.writes).toBe(2);
    dispatcher.setCommitTime(30n);
    expect(fixture.routedTimes).toEqual([18n, 20n]);
    expect(dispatcher.lateWrites.writes).toBe(0);
  });
});

it('events of one id class go to one worker, whatever the bytes of their _id', () => {
  const dispatcher = fixture.dispatcherOf();
  bringTo(fixture.partition, 'done');
  const ids = [1, Long.ONE, 1.5];
  dispatcher.route(
    step(
      ids.map((id, index) =>
        event(20n + BigInt(index), {
          key: [
            ['sk', rawOf(1)],
            ['_id', rawOf(id)],
          ],
        }),
      ),
      30n,
    ),
  );
  const [first, second, third] = fixture.routed.map(({ workerClass }) => workerClass);
  expect(first).toBe(second);
  expect(third).not.toBe(first);
  expect(fixture.routed.every(({ event: { uuid } }) => uuid === modelUuid)).toBe(true);
});
