import { Long } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseEvent } from '../../../src/apply/event.js';
import { ApplyWorkers } from '../../../src/apply/apply-workers.js';
import { EventDispatcher, type EventDispatcherDependencies } from '../../../src/apply/event-dispatcher.js';
import type { StreamStep } from '../../../src/apply/change-stream-reader.js';
import type { RoutedEvent } from '../../../src/apply/write-batch.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { type Partition, PartitionTable } from '../../../src/store/partition-table.js';
import { eventOf, modelUuid, type SeenChange } from '../model/change-events.js';
import { collectionOf, rawOf } from '../model/parts.js';
import { documentOf } from '../model/raw-document.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';

/** What an event counts in the budget, its objects included. */
function sizeOf(bytes: Uint8Array): number {
  const parsed = parseEvent(bytes);
  return parsed.kind === 'data' ? parsed.event.bytes : bytes.length;
}

const startAt = 10n;
const ddlWatermark = 1000n;
let routed: RoutedEvent[];
let budget: ByteBudget;
let table: PartitionTable;
let found: string[];

class RecordingWorkers extends ApplyWorkers {
  override push(event: RoutedEvent): void {
    routed.push(event);
  }
}

function dispatcherOf(
  changes: Partial<EventDispatcherDependencies> = {},
  collection: SyncedCollection = collectionOf(),
  lastWrite = 0n,
): EventDispatcher {
  table = PartitionTable.fresh(collection, [], () => Promise.resolve());
  const deps: EventDispatcherDependencies = {
    collections: new Map([[collection.uuid, collection]]),
    tables: new Map([[collection.uuid, table]]),
    applyWorkers: new RecordingWorkers(1, undefined as never),
    budget,
    watermark: 0n,
    onUnknownCollection: (_database, name) => void found.push(name),
    includes: () => true,
    ...changes,
  };
  const dispatcher = new EventDispatcher(deps, startAt, lastWrite);
  dispatcher.setDdlWatermark(ddlWatermark);
  return dispatcher;
}

beforeEach(() => {
  routed = [];
  found = [];
  budget = new ByteBudget(1_000_000);
});

function partition(): Partition {
  const [only] = table.partitions;
  if (only === undefined) throw new Error('no partition');
  return only;
}

function event(time: bigint, changes: Partial<SeenChange> = {}): Uint8Array {
  const key: SeenChange['key'] = [
    ['sk', rawOf(1)],
    ['_id', rawOf(1)],
  ];
  return eventOf({ operation: 'update', updated: [['v', rawOf(1)]], key, inTransaction: false, ...changes }, time);
}

function step(events: Uint8Array[], readBelow: bigint, changes: Partial<StreamStep> = {}): StreamStep {
  return { events, readBelow, sourceTime: readBelow, reopened: false, ...changes };
}

function timesOf(events: readonly RoutedEvent[]): bigint[] {
  return events.map((one) => one.event.time);
}

describe('the routed position', () => {
  it('lies below the time of the token, which is exclusive', () => {
    const dispatcher = dispatcherOf();
    expect(dispatcher.position).toBe(9n);
    dispatcher.route(step([event(20n)], 20n));
    expect(dispatcher.position).toBe(19n);
  });

  it('never goes back', () => {
    const dispatcher = dispatcherOf();
    dispatcher.route(step([], 20n));
    dispatcher.route(step([], 15n));
    expect(dispatcher.position).toBe(19n);
  });
});

describe('an event of a partition', () => {
  it('that waits is dropped, and no reading may be earlier', () => {
    const dispatcher = dispatcherOf();
    dispatcher.route(step([event(20n)], 20n));
    expect(routed).toEqual([]);
    expect(partition().dropped).toBe(20n);
    expect(budget.used).toBe(0);
  });

  it('that waits dirty removes its document, unless it is an insert', () => {
    const dispatcher = dispatcherOf();
    partition().dirty = true;
    const document = documentOf([
      ['_id', rawOf(1)],
      ['sk', rawOf(1)],
    ]);
    dispatcher.route(step([event(20n), event(21n, { operation: 'insert', document })], 30n));
    expect(routed.map(({ removes, event: { time } }) => [time, removes])).toEqual([[20n, true]]);
  });

  it.each(['starting', 'copying', 'done'] as const)(
    'at or below the reading time is dropped while it is %s',
    (state) => {
      const dispatcher = dispatcherOf();
      Object.assign(partition(), { state, readTime: 20n });
      dispatcher.route(step([event(19n), event(20n)], 20n));
      expect(routed).toEqual([]);
      expect(partition().buffered).toEqual([]);
    },
  );

  it.each(['starting', 'copying'] as const)(
    'above the reading time is held while it is %s, and goes on in order',
    (state) => {
      const dispatcher = dispatcherOf();
      Object.assign(partition(), { state, readTime: 20n });
      dispatcher.route(step([event(21n), event(22n)], 30n));
      expect(routed).toEqual([]);
      const buffered = partition().buffered.splice(0);
      expect(buffered.map(({ time }) => time)).toEqual([21n, 22n]);
      expect(budget.used).toBeGreaterThan(0);
      partition().state = 'done';
      const used = budget.used;
      dispatcher.release(table, buffered);
      expect(timesOf(routed)).toEqual([21n, 22n]);
      expect(budget.used).toBe(used);
    },
  );

  it('that starts dirty still removes documents up to its reading time', () => {
    const dispatcher = dispatcherOf();
    Object.assign(partition(), { state: 'starting', readTime: 20n, dirty: true });
    dispatcher.route(step([event(20n)], 20n));
    expect(routed.map(({ removes }) => removes)).toEqual([true]);
  });

  it('that is done and above its reading time goes to a lane, with the end of its reading', () => {
    const dispatcher = dispatcherOf();
    Object.assign(partition(), { state: 'done', readTime: 20n, readEnd: 25n });
    dispatcher.route(step([event(21n)], 30n));
    expect(routed[0]?.bounds).toEqual({ watermark: 0n, readEnd: 25n });
    expect(routed[0]?.removes).toBe(false);
  });

  it('holds events with bytes of their own: the reply they came in may go', () => {
    const dispatcher = dispatcherOf();
    Object.assign(partition(), { state: 'copying', readTime: 20n });
    const bytes = event(21n, { operation: 'update', updated: [['f', rawOf(1)]] });
    const before = parseEvent(Buffer.from(bytes));
    dispatcher.route(step([bytes], 22n));
    bytes.fill(0);
    expect(partition().buffered).toMatchObject([before.kind === 'data' ? before.event : {}]);
    expect(partition().buffered[0]?.documentKey.buffer.byteLength).toBeLessThan(bytes.length);
  });

  it('that is given back without result drops what it held, or removes it when dirty', () => {
    const dispatcher = dispatcherOf();
    Object.assign(partition(), { state: 'copying', readTime: 20n });
    dispatcher.route(step([event(21n)], 30n));
    const buffered = partition().buffered.splice(0);
    Object.assign(partition(), { state: 'waiting', dirty: true });
    dispatcher.release(table, buffered);
    expect(routed.map(({ removes }) => removes)).toEqual([true]);
    expect(partition().dropped).toBe(21n);
  });
});

describe("an event that is not the share's", () => {
  it('is dropped when another shard owns the document', () => {
    const dispatcher = dispatcherOf({}, collectionOf({ owns: () => false }));
    partition().state = 'done';
    dispatcher.route(step([event(20n)], 30n));
    expect(routed).toEqual([]);
    expect(dispatcher.lastWrite).toBe(0n);
  });

  it('asks the document of an insert, whose key on a shard is _id alone', () => {
    const asked: string[] = [];
    const owns: SyncedCollection['owns'] = (_bytes, source) => asked.push(source) > 0;
    const dispatcher = dispatcherOf({}, collectionOf({ owns }));
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

  it('of an unknown collection is told, unless the filter leaves it out', () => {
    dispatcherOf({ collections: new Map() }).route(step([event(20n)], 30n));
    dispatcherOf({ collections: new Map(), includes: () => false }).route(step([event(20n)], 30n));
    expect(found).toEqual(['orders']);
  });
});

describe('a stream that was opened again', () => {
  it('puts the deltas of the times that come again in doubt', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.route(step([event(20n)], 20n));
    dispatcher.route(step([], 20n, { reopened: true }));
    dispatcher.route(step([event(20n), event(21n)], 21n));
    expect(routed.map(({ bounds }) => bounds.watermark)).toEqual([0n, 20n, 20n]);
  });

  it('does not keep events above the ceiling twice', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.setCeiling(15n);
    dispatcher.route(step([event(18n), event(20n)], 20n));
    dispatcher.route(step([], 20n, { reopened: true }));
    dispatcher.route(step([event(20n)], 21n));
    expect(dispatcher.writesAboveCeiling.writes).toBe(2);
    dispatcher.setCeiling(30n);
    expect(timesOf(routed)).toEqual([18n, 20n]);
    expect(dispatcher.writesAboveCeiling.writes).toBe(0);
  });
});

describe('the ceiling', () => {
  it('keeps later events and the position below it, until a later one is set', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(20n), event(21n)], 30n));
    expect(timesOf(routed)).toEqual([20n]);
    expect([dispatcher.position, dispatcher.readBelow, dispatcher.writesAboveCeiling.writes]).toEqual([20n, 30n, 1]);
    dispatcher.setCeiling(25n);
    expect(timesOf(routed)).toEqual([20n, 21n]);
    expect([dispatcher.position, dispatcher.writesAboveCeiling.writes]).toEqual([25n, 0]);
  });

  it('below what a predecessor had reached does not keep the stream from being heard', () => {
    const dispatcher = dispatcherOf();
    dispatcher.setCeiling(5n);
    expect(dispatcher.heard).toBe(false);
    dispatcher.route(step([], 30n));
    expect([dispatcher.heard, dispatcher.position]).toEqual([true, 9n]);
  });

  it('is no earlier for having been set before', () => {
    const dispatcher = dispatcherOf();
    dispatcher.setCeiling(20n);
    dispatcher.setCeiling(15n);
    dispatcher.route(step([], 30n));
    expect(dispatcher.position).toBe(20n);
  });

  it('counts what was routed before it was known as written above it', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.route(step([event(25n)], 26n));
    dispatcher.setCeiling(20n);
    expect(dispatcher.writesAboveCeiling.writes).toBe(1);
    expect(dispatcher.lastWrite).toBe(25n);
  });

  it('is not below what was routed already, so that a repair which needs it can be read', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.route(step([event(25n)], 25n));
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(25n), event(26n)], 30n));
    expect(dispatcher.position).toBe(25n);
    expect(dispatcher.writesAboveCeiling.writes).toBe(3);
  });

  it('names the collections of which documents were deleted above it, and does not count the deletes', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(20n, { operation: 'delete' }), event(21n, { operation: 'delete' }), event(22n)], 30n));
    expect(dispatcher.writesAboveCeiling).toEqual({ writes: 1, deletedIn: new Set([collectionOf().uuid]) });
    dispatcher.setCeiling(25n);
    expect(dispatcher.writesAboveCeiling).toEqual({ writes: 0, deletedIn: new Set() });
  });

  it('counts writes that an earlier process had routed above it', () => {
    const dispatcher = dispatcherOf({}, collectionOf(), 25n);
    dispatcher.setCeiling(20n);
    expect(dispatcher.writesAboveCeiling.writes).toBe(1);
  });

  it('keeps nothing that the filter leaves out, so that users who write it do not fill the budget', () => {
    const dispatcher = dispatcherOf({ collections: new Map(), includes: () => false });
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(21n)], 30n));
    dispatcher.setCeiling(40n);
    expect([budget.used, found]).toEqual([0, []]);
  });

  it('leaves out what the filter leaves out', () => {
    const dispatcher = dispatcherOf({ includes: () => false });
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(21n)], 30n));
    expect(dispatcher.writesAboveCeiling.writes).toBe(0);
  });
});

describe('the horizon', () => {
  it('keeps events at and above it, which count in the budget, until it has moved on', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    const events = [event(ddlWatermark - 1n), event(ddlWatermark), event(ddlWatermark + 5n)];
    dispatcher.route(step(events, ddlWatermark + 9n));
    expect(timesOf(routed)).toEqual([ddlWatermark - 1n]);
    expect([dispatcher.position, dispatcher.readBelow]).toEqual([ddlWatermark - 1n, ddlWatermark + 9n]);
    expect(budget.used).toBe(events.reduce((sum, bytes) => sum + sizeOf(bytes), 0));
    dispatcher.setDdlWatermark(ddlWatermark + 1n);
    expect([timesOf(routed), dispatcher.position]).toEqual([[ddlWatermark - 1n, ddlWatermark], ddlWatermark]);
    dispatcher.setDdlWatermark(ddlWatermark - 5n);
    dispatcher.setDdlWatermark(ddlWatermark + 100n);
    expect([timesOf(routed), dispatcher.position]).toEqual([
      [ddlWatermark - 1n, ddlWatermark, ddlWatermark + 5n],
      ddlWatermark + 8n,
    ]);
  });

  it('is no reason to read what is kept twice when the stream is opened again', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.route(step([event(ddlWatermark), event(ddlWatermark + 2n)], ddlWatermark + 2n));
    dispatcher.route(step([], ddlWatermark + 2n, { reopened: true }));
    dispatcher.route(step([event(ddlWatermark + 2n), event(ddlWatermark + 3n)], ddlWatermark + 4n));
    dispatcher.setDdlWatermark(ddlWatermark + 100n);
    expect(timesOf(routed)).toEqual([ddlWatermark, ddlWatermark + 2n, ddlWatermark + 3n]);
    expect(routed.every(({ bounds }) => bounds.watermark === 0n)).toBe(true);
  });

  it('below the commit time limits what is routed, and above it does not', () => {
    const dispatcher = dispatcherOf();
    partition().state = 'done';
    dispatcher.setCeiling(ddlWatermark + 2n);
    dispatcher.route(step([event(ddlWatermark + 1n), event(ddlWatermark + 3n)], ddlWatermark + 10n));
    expect([dispatcher.position, dispatcher.writesAboveCeiling.writes]).toEqual([ddlWatermark - 1n, 1]);
    dispatcher.setDdlWatermark(ddlWatermark + 50n);
    expect([timesOf(routed), dispatcher.position, dispatcher.writesAboveCeiling.writes]).toEqual([
      [ddlWatermark + 1n],
      ddlWatermark + 2n,
      1,
    ]);
  });
});

describe('after a restart', () => {
  it('everything up to begun has to be read again before anything counts as drained', () => {
    const dispatcher = dispatcherOf({ watermark: 30n });
    dispatcher.setCeiling(20n);
    dispatcher.route(step([], 30n));
    expect(dispatcher.readAgain).toBe(false);
    dispatcher.route(step([], 31n));
    expect(dispatcher.readAgain).toBe(true);
  });

  it('repairs wait until what may have been applied was routed again, or until the ceiling', () => {
    const dispatcher = dispatcherOf({ watermark: 30n });
    dispatcher.route(step([], 30n));
    expect(dispatcher.replayed).toBe(false);
    dispatcher.route(step([], 31n));
    expect(dispatcher.replayed).toBe(true);
    const limited = dispatcherOf({ watermark: 30n });
    limited.setCeiling(20n);
    limited.route(step([], 25n));
    expect(limited.replayed).toBe(true);
  });
});

it('events of one id class go to one lane, whatever the bytes of their _id', () => {
  const dispatcher = dispatcherOf();
  partition().state = 'done';
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
  const [first, second, third] = routed.map(({ workerClass }) => workerClass);
  expect(first).toBe(second);
  expect(third).not.toBe(first);
  expect(routed.every(({ event: { uuid } }) => uuid === modelUuid)).toBe(true);
});
