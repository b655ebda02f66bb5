import { Long } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseEvent } from '../../../src/apply/event.js';
import { Lanes } from '../../../src/apply/lanes.js';
import { Router, type RouterContext } from '../../../src/apply/router.js';
import type { StreamStep } from '../../../src/apply/stream.js';
import type { RoutedEvent } from '../../../src/apply/wave.js';
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
const horizon = 1000n;
let routed: RoutedEvent[];
let budget: ByteBudget;
let table: PartitionTable;
let found: string[];

class RecordingLanes extends Lanes {
  override push(event: RoutedEvent): void {
    routed.push(event);
  }
}

function routerOf(changes: Partial<RouterContext> = {}, collection: SyncedCollection = collectionOf(), lastWrite = 0n): Router {
  table = PartitionTable.fresh(collection, [], () => Promise.resolve());
  const context: RouterContext = {
    collections: new Map([[collection.uuid, collection]]),
    tables: new Map([[collection.uuid, table]]),
    lanes: new RecordingLanes(1, undefined as never),
    budget,
    begunBefore: 0n,
    onUnknownCollection: (_database, name) => void found.push(name),
    includes: () => true,
    ...changes,
  };
  const router = new Router(context, startAt, lastWrite);
  router.setHorizon(horizon);
  return router;
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
  const key: SeenChange['key'] = [['sk', rawOf(1)], ['_id', rawOf(1)]];
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
    const router = routerOf();
    expect(router.position).toBe(9n);
    router.route(step([event(20n)], 20n));
    expect(router.position).toBe(19n);
  });

  it('never goes back', () => {
    const router = routerOf();
    router.route(step([], 20n));
    router.route(step([], 15n));
    expect(router.position).toBe(19n);
  });
});

describe('an event of a partition', () => {
  it('that waits is dropped, and no reading may be earlier', () => {
    const router = routerOf();
    router.route(step([event(20n)], 20n));
    expect(routed).toEqual([]);
    expect(partition().dropped).toBe(20n);
    expect(budget.used).toBe(0);
  });

  it('that waits dirty removes its document, unless it is an insert', () => {
    const router = routerOf();
    partition().dirty = true;
    const document = documentOf([['_id', rawOf(1)], ['sk', rawOf(1)]]);
    router.route(step([event(20n), event(21n, { operation: 'insert', document })], 30n));
    expect(routed.map(({ removes, event: { time } }) => [time, removes])).toEqual([[20n, true]]);
  });

  it.each(['starting', 'copying', 'done'] as const)('at or below the reading time is dropped while it is %s', (state) => {
    const router = routerOf();
    Object.assign(partition(), { state, readTime: 20n });
    router.route(step([event(19n), event(20n)], 20n));
    expect(routed).toEqual([]);
    expect(partition().held).toEqual([]);
  });

  it.each(['starting', 'copying'] as const)('above the reading time is held while it is %s, and goes on in order', (state) => {
    const router = routerOf();
    Object.assign(partition(), { state, readTime: 20n });
    router.route(step([event(21n), event(22n)], 30n));
    expect(routed).toEqual([]);
    const held = partition().held.splice(0);
    expect(held.map(({ time }) => time)).toEqual([21n, 22n]);
    expect(budget.used).toBeGreaterThan(0);
    partition().state = 'done';
    const used = budget.used;
    router.release(table, held);
    expect(timesOf(routed)).toEqual([21n, 22n]);
    expect(budget.used).toBe(used);
  });

  it('that starts dirty still removes documents up to its reading time', () => {
    const router = routerOf();
    Object.assign(partition(), { state: 'starting', readTime: 20n, dirty: true });
    router.route(step([event(20n)], 20n));
    expect(routed.map(({ removes }) => removes)).toEqual([true]);
  });

  it('that is done and above its reading time goes to a lane, with the end of its reading', () => {
    const router = routerOf();
    Object.assign(partition(), { state: 'done', readTime: 20n, readEnd: 25n });
    router.route(step([event(21n)], 30n));
    expect(routed[0]?.bounds).toEqual({ begunBefore: 0n, readEnd: 25n });
    expect(routed[0]?.removes).toBe(false);
  });

  it('holds events with bytes of their own: the reply they came in may go', () => {
    const router = routerOf();
    Object.assign(partition(), { state: 'copying', readTime: 20n });
    const bytes = event(21n, { operation: 'update', updated: [['f', rawOf(1)]] });
    const before = parseEvent(Buffer.from(bytes));
    router.route(step([bytes], 22n));
    bytes.fill(0);
    expect(partition().held).toMatchObject([before.kind === 'data' ? before.event : {}]);
    expect(partition().held[0]?.documentKey.buffer.byteLength).toBeLessThan(bytes.length);
  });

  it('that is given back without result drops what it held, or removes it when dirty', () => {
    const router = routerOf();
    Object.assign(partition(), { state: 'copying', readTime: 20n });
    router.route(step([event(21n)], 30n));
    const held = partition().held.splice(0);
    Object.assign(partition(), { state: 'waiting', dirty: true });
    router.release(table, held);
    expect(routed.map(({ removes }) => removes)).toEqual([true]);
    expect(partition().dropped).toBe(21n);
  });
});

describe('an event that is not the share\'s', () => {
  it('is dropped when another shard owns the document', () => {
    const router = routerOf({}, collectionOf({ owns: () => false }));
    partition().state = 'done';
    router.route(step([event(20n)], 30n));
    expect(routed).toEqual([]);
    expect(router.lastWrite).toBe(0n);
  });

  it('asks the document of an insert, whose key on a shard is _id alone', () => {
    const asked: string[] = [];
    const owns: SyncedCollection['owns'] = (_bytes, source) => asked.push(source) > 0;
    const router = routerOf({}, collectionOf({ owns }));
    router.route(step([event(20n, { operation: 'insert', document: documentOf([['_id', rawOf(1)], ['sk', rawOf(1)]]) }), event(21n)], 30n));
    expect(asked).toEqual(['document', 'documentKey']);
  });

  it('of an unknown collection is told, unless the filter leaves it out', () => {
    routerOf({ collections: new Map() }).route(step([event(20n)], 30n));
    routerOf({ collections: new Map(), includes: () => false }).route(step([event(20n)], 30n));
    expect(found).toEqual(['orders']);
  });
});

describe('a stream that was opened again', () => {
  it('puts the deltas of the times that come again in doubt', () => {
    const router = routerOf();
    partition().state = 'done';
    router.route(step([event(20n)], 20n));
    router.route(step([], 20n, { reopened: true }));
    router.route(step([event(20n), event(21n)], 21n));
    expect(routed.map(({ bounds }) => bounds.begunBefore)).toEqual([0n, 20n, 20n]);
  });

  it('does not keep events above the ceiling twice', () => {
    const router = routerOf();
    partition().state = 'done';
    router.setCeiling(15n);
    router.route(step([event(18n), event(20n)], 20n));
    router.route(step([], 20n, { reopened: true }));
    router.route(step([event(20n)], 21n));
    expect(router.writesAboveCeiling.writes).toBe(2);
    router.setCeiling(30n);
    expect(timesOf(routed)).toEqual([18n, 20n]);
    expect(router.writesAboveCeiling.writes).toBe(0);
  });
});

describe('the ceiling', () => {
  it('keeps later events and the position below it, until a later one is set', () => {
    const router = routerOf();
    partition().state = 'done';
    router.setCeiling(20n);
    router.route(step([event(20n), event(21n)], 30n));
    expect(timesOf(routed)).toEqual([20n]);
    expect([router.position, router.readBelow, router.writesAboveCeiling.writes]).toEqual([20n, 30n, 1]);
    router.setCeiling(25n);
    expect(timesOf(routed)).toEqual([20n, 21n]);
    expect([router.position, router.writesAboveCeiling.writes]).toEqual([25n, 0]);
  });

  it('below what a predecessor had reached does not keep the stream from being heard', () => {
    const router = routerOf();
    router.setCeiling(5n);
    expect(router.heard).toBe(false);
    router.route(step([], 30n));
    expect([router.heard, router.position]).toEqual([true, 9n]);
  });

  it('is no earlier for having been set before', () => {
    const router = routerOf();
    router.setCeiling(20n);
    router.setCeiling(15n);
    router.route(step([], 30n));
    expect(router.position).toBe(20n);
  });

  it('counts what was routed before it was known as written above it', () => {
    const router = routerOf();
    partition().state = 'done';
    router.route(step([event(25n)], 26n));
    router.setCeiling(20n);
    expect(router.writesAboveCeiling.writes).toBe(1);
    expect(router.lastWrite).toBe(25n);
  });

  it('is not below what was routed already, so that a repair which needs it can be read', () => {
    const router = routerOf();
    partition().state = 'done';
    router.route(step([event(25n)], 25n));
    router.setCeiling(20n);
    router.route(step([event(25n), event(26n)], 30n));
    expect(router.position).toBe(25n);
    expect(router.writesAboveCeiling.writes).toBe(3);
  });

  it('names the collections of which documents were deleted above it, and does not count the deletes', () => {
    const router = routerOf();
    partition().state = 'done';
    router.setCeiling(20n);
    router.route(step([event(20n, { operation: 'delete' }), event(21n, { operation: 'delete' }), event(22n)], 30n));
    expect(router.writesAboveCeiling).toEqual({ writes: 1, deletedIn: new Set([collectionOf().uuid]) });
    router.setCeiling(25n);
    expect(router.writesAboveCeiling).toEqual({ writes: 0, deletedIn: new Set() });
  });

  it('counts writes that an earlier process had routed above it', () => {
    const router = routerOf({}, collectionOf(), 25n);
    router.setCeiling(20n);
    expect(router.writesAboveCeiling.writes).toBe(1);
  });

  it('keeps nothing that the filter leaves out, so that users who write it do not fill the budget', () => {
    const router = routerOf({ collections: new Map(), includes: () => false });
    router.setCeiling(20n);
    router.route(step([event(21n)], 30n));
    router.setCeiling(40n);
    expect([budget.used, found]).toEqual([0, []]);
  });

  it('leaves out what the filter leaves out', () => {
    const router = routerOf({ includes: () => false });
    router.setCeiling(20n);
    router.route(step([event(21n)], 30n));
    expect(router.writesAboveCeiling.writes).toBe(0);
  });
});

describe('the horizon', () => {
  it('keeps events at and above it, which count in the budget, until it has moved on', () => {
    const router = routerOf();
    partition().state = 'done';
    const events = [event(horizon - 1n), event(horizon), event(horizon + 5n)];
    router.route(step(events, horizon + 9n));
    expect(timesOf(routed)).toEqual([horizon - 1n]);
    expect([router.position, router.readBelow]).toEqual([horizon - 1n, horizon + 9n]);
    expect(budget.used).toBe(events.reduce((sum, bytes) => sum + sizeOf(bytes), 0));
    router.setHorizon(horizon + 1n);
    expect([timesOf(routed), router.position]).toEqual([[horizon - 1n, horizon], horizon]);
    router.setHorizon(horizon - 5n);
    router.setHorizon(horizon + 100n);
    expect([timesOf(routed), router.position]).toEqual([[horizon - 1n, horizon, horizon + 5n], horizon + 8n]);
  });

  it('is no reason to read what is kept twice when the stream is opened again', () => {
    const router = routerOf();
    partition().state = 'done';
    router.route(step([event(horizon), event(horizon + 2n)], horizon + 2n));
    router.route(step([], horizon + 2n, { reopened: true }));
    router.route(step([event(horizon + 2n), event(horizon + 3n)], horizon + 4n));
    router.setHorizon(horizon + 100n);
    expect(timesOf(routed)).toEqual([horizon, horizon + 2n, horizon + 3n]);
    expect(routed.every(({ bounds }) => bounds.begunBefore === 0n)).toBe(true);
  });

  it('below the commit time limits what is routed, and above it does not', () => {
    const router = routerOf();
    partition().state = 'done';
    router.setCeiling(horizon + 2n);
    router.route(step([event(horizon + 1n), event(horizon + 3n)], horizon + 10n));
    expect([router.position, router.writesAboveCeiling.writes]).toEqual([horizon - 1n, 1]);
    router.setHorizon(horizon + 50n);
    expect([timesOf(routed), router.position, router.writesAboveCeiling.writes]).toEqual([[horizon + 1n], horizon + 2n, 1]);
  });
});

describe('after a restart', () => {
  it('everything up to begun has to be read again before anything counts as drained', () => {
    const router = routerOf({ begunBefore: 30n });
    router.setCeiling(20n);
    router.route(step([], 30n));
    expect(router.readAgain).toBe(false);
    router.route(step([], 31n));
    expect(router.readAgain).toBe(true);
  });

  it('repairs wait until what may have been applied was routed again, or until the ceiling', () => {
    const router = routerOf({ begunBefore: 30n });
    router.route(step([], 30n));
    expect(router.replayed).toBe(false);
    router.route(step([], 31n));
    expect(router.replayed).toBe(true);
    const limited = routerOf({ begunBefore: 30n });
    limited.setCeiling(20n);
    limited.route(step([], 25n));
    expect(limited.replayed).toBe(true);
  });
});

it('events of one id class go to one lane, whatever the bytes of their _id', () => {
  const router = routerOf();
  partition().state = 'done';
  const ids = [1, Long.ONE, 1.5];
  router.route(step(ids.map((id, index) => event(20n + BigInt(index), { key: [['sk', rawOf(1)], ['_id', rawOf(id)]] })), 30n));
  const [first, second, third] = routed.map(({ laneClass }) => laneClass);
  expect(first).toBe(second);
  expect(third).not.toBe(first);
  expect(routed.every(({ event: { uuid } }) => uuid === modelUuid)).toBe(true);
});
