import { beforeEach, describe, expect, it } from 'vitest';
import { parseEvent } from '../../../src/apply/event.js';
import { ddlEventOf } from '../model/change-events.js';
import { collectionOf } from '../model/parts.js';
import { ddlWatermark, DispatcherFixture, event, step } from './dispatcher-fixture.js';
import { bringTo } from '../model/partition-states.js';

let fixture: DispatcherFixture;

beforeEach(() => {
  fixture = new DispatcherFixture();
});

/** What an event counts in the budget. */
function sizeOf(bytes: Uint8Array): number {
  const parsed = parseEvent(bytes);
  return parsed.kind === 'data' ? parsed.event.bytes : bytes.length;
}

describe('the commit time', () => {
  it('holds later events and the position until a later one is set', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([event(20n), event(21n)], 30n));
    expect(fixture.routedTimes).toEqual([20n]);
    expect([dispatcher.position, dispatcher.readBelow, dispatcher.lateWrites.writes]).toEqual([20n, 30n, 1]);
    dispatcher.setCommitTime(25n);
    expect(fixture.routedTimes).toEqual([20n, 21n]);
    expect([dispatcher.position, dispatcher.lateWrites.writes]).toEqual([25n, 0]);
  });

  it('below the position of an earlier process does not stop the stream', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.setCommitTime(5n);
    expect(dispatcher.heard).toBe(false);
    dispatcher.route(step([], 30n));
    expect([dispatcher.heard, dispatcher.position]).toEqual([true, 9n]);
  });

  it('never decreases', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.setCommitTime(20n);
    dispatcher.setCommitTime(15n);
    dispatcher.route(step([], 30n));
    expect(dispatcher.position).toBe(20n);
  });

  it('counts later events that were routed before it was known as above it', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(25n)], 26n));
    dispatcher.setCommitTime(20n);
    expect(dispatcher.lateWrites.writes).toBe(1);
    expect(dispatcher.lastWrite).toBe(25n);
  });

  it('is not below the latest routed event, so that a re-read that needs it can start', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(25n)], 25n));
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([event(25n), event(26n)], 30n));
    expect(dispatcher.position).toBe(25n);
    expect(dispatcher.lateWrites.writes).toBe(3);
  });

  it('lists the collections with deletes above it, without counting the deletes', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([event(20n, { operation: 'delete' }), event(21n, { operation: 'delete' }), event(22n)], 30n));
    expect(dispatcher.lateWrites).toEqual({
      writes: 1,
      createsAndDrops: 0,
      deletedIn: new Set([collectionOf().uuid]),
    });
    dispatcher.setCommitTime(25n);
    expect(dispatcher.lateWrites).toEqual({ writes: 0, createsAndDrops: 0, deletedIn: new Set() });
  });

  it('counts above it what moves of databases and collections show apart from other changes of definitions', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.setCommitTime(20n);
    const byMoves = ['create', 'createIndexes', 'drop', 'migrateLastChunkFromShard', 'reshardCollection'];
    const byUsers = ['rename', 'dropIndexes', 'dropDatabase', 'shardCollection', 'refineCollectionShardKey', 'modify'];
    const changes = [...byMoves, ...byUsers].map((operation) => ddlEventOf(operation, 21n, collectionOf()));
    dispatcher.route(step(changes, 30n));
    expect(dispatcher.lateWrites).toMatchObject({ writes: byUsers.length, createsAndDrops: byMoves.length });
  });

  it('counts renames above it from excluded namespaces: $out replaces a collection by one of its own', () => {
    const includes = (_database: string, name: string): boolean => name === collectionOf().name;
    const dispatcher = fixture.dispatcherOf({ filter: { includes } });
    dispatcher.setCommitTime(20n);
    const out = { uuid: collectionOf().uuid, name: 'tmp.agg_out.1' };
    dispatcher.route(step([ddlEventOf('rename', 21n, out, 'excluded')], 30n));
    expect(dispatcher.lateWrites.writes).toBe(0);
    dispatcher.route(step([ddlEventOf('rename', 31n, out, collectionOf().name)], 40n));
    expect(dispatcher.lateWrites.writes).toBe(1);
  });

  it('counts writes above it that an earlier process routed', () => {
    const dispatcher = fixture.dispatcherOf({}, collectionOf(), 25n);
    dispatcher.setCommitTime(20n);
    expect(dispatcher.lateWrites.writes).toBe(1);
  });

  it('holds no events of excluded namespaces, which would fill the budget', () => {
    const dispatcher = fixture.dispatcherOf({ collections: new Map(), filter: { includes: () => false } });
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([event(21n)], 30n));
    dispatcher.setCommitTime(40n);
    expect([fixture.budget.used, fixture.found]).toEqual([0, []]);
  });

  it('does not count writes to excluded namespaces', () => {
    const dispatcher = fixture.dispatcherOf({ filter: { includes: () => false } });
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([event(21n)], 30n));
    expect(dispatcher.lateWrites.writes).toBe(0);
  });
});

describe('a sealed commit time', () => {
  it('gives back the memory of later events, and only counts them', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([event(21n, { operation: 'delete' }), event(22n)], 30n));
    expect(fixture.budget.used).toBeGreaterThan(0);
    dispatcher.seal();
    dispatcher.route(step([event(31n, { operation: 'delete' }), ddlEventOf('drop', 32n, collectionOf())], 40n));
    dispatcher.route(step([event(40n)], 41n, { reopened: true }));
    expect(fixture.budget.used).toBe(0);
    expect([fixture.routedTimes, dispatcher.position, dispatcher.readBelow]).toEqual([[], 20n, 41n]);
    expect(dispatcher.lateWrites).toEqual({
      writes: 2,
      createsAndDrops: 1,
      deletedIn: new Set([collectionOf().uuid]),
    });
  });

  it('holds earlier events until they may be routed', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCommitTime(ddlWatermark + 2n);
    const events = [event(ddlWatermark + 1n), event(ddlWatermark + 3n)];
    dispatcher.route(step(events.slice(0, 1), ddlWatermark + 2n));
    dispatcher.seal();
    dispatcher.route(step(events.slice(1), ddlWatermark + 10n));
    dispatcher.setDdlWatermark(ddlWatermark + 50n);
    expect([fixture.routedTimes, dispatcher.lateWrites.writes]).toEqual([[ddlWatermark + 1n], 1]);
  });

  it('is final, since later events are gone', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.setCommitTime(20n);
    dispatcher.seal();
    dispatcher.setCommitTime(20n);
    expect(() => dispatcher.setCommitTime(21n)).toThrow('sealed');
  });
});

describe('the DDL watermark', () => {
  it('holds events at and above it, which count in the budget, until it advances', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    const events = [event(ddlWatermark - 1n), event(ddlWatermark), event(ddlWatermark + 5n)];
    dispatcher.route(step(events, ddlWatermark + 9n));
    expect(fixture.routedTimes).toEqual([ddlWatermark - 1n]);
    expect([dispatcher.position, dispatcher.readBelow]).toEqual([ddlWatermark - 1n, ddlWatermark + 9n]);
    expect(fixture.budget.used).toBe(events.reduce((sum, bytes) => sum + sizeOf(bytes), 0));
    dispatcher.setDdlWatermark(ddlWatermark + 1n);
    expect([fixture.routedTimes, dispatcher.position]).toEqual([[ddlWatermark - 1n, ddlWatermark], ddlWatermark]);
    dispatcher.setDdlWatermark(ddlWatermark - 5n);
    dispatcher.setDdlWatermark(ddlWatermark + 100n);
    expect([fixture.routedTimes, dispatcher.position]).toEqual([
      [ddlWatermark - 1n, ddlWatermark, ddlWatermark + 5n],
      ddlWatermark + 8n,
    ]);
  });

  it('does not hold events twice when the stream is reopened', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(ddlWatermark), event(ddlWatermark + 2n)], ddlWatermark + 2n));
    dispatcher.route(step([], ddlWatermark + 2n, { reopened: true }));
    dispatcher.route(step([event(ddlWatermark + 2n), event(ddlWatermark + 3n)], ddlWatermark + 4n));
    dispatcher.setDdlWatermark(ddlWatermark + 100n);
    expect(fixture.routedTimes).toEqual([ddlWatermark, ddlWatermark + 2n, ddlWatermark + 3n]);
    expect(fixture.routed.every(({ bounds }) => bounds.watermark === 0n)).toBe(true);
  });

  it('limits routing below the commit time, and not above it', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCommitTime(ddlWatermark + 2n);
    dispatcher.route(step([event(ddlWatermark + 1n), event(ddlWatermark + 3n)], ddlWatermark + 10n));
    expect([dispatcher.position, dispatcher.lateWrites.writes]).toEqual([ddlWatermark - 1n, 1]);
    dispatcher.setDdlWatermark(ddlWatermark + 50n);
    expect([fixture.routedTimes, dispatcher.position, dispatcher.lateWrites.writes]).toEqual([
      [ddlWatermark + 1n],
      ddlWatermark + 2n,
      1,
    ]);
  });
});

describe('after a restart', () => {
  it('everything up to the apply watermark must be read again before the task counts as drained', () => {
    const dispatcher = fixture.dispatcherOf({ sentUpTo: 30n });
    dispatcher.setCommitTime(20n);
    dispatcher.route(step([], 30n));
    expect(dispatcher.isReadAgain).toBe(false);
    dispatcher.route(step([], 31n));
    expect(dispatcher.isReadAgain).toBe(true);
  });

  it('re-reads wait until events that may have been applied are routed again, or until the commit time', () => {
    const dispatcher = fixture.dispatcherOf({ sentUpTo: 30n });
    dispatcher.route(step([], 30n));
    expect(dispatcher.isRoutedAgain).toBe(false);
    dispatcher.route(step([], 31n));
    expect(dispatcher.isRoutedAgain).toBe(true);
    const limited = fixture.dispatcherOf({ sentUpTo: 30n });
    limited.setCommitTime(20n);
    limited.route(step([], 25n));
    expect(limited.isRoutedAgain).toBe(true);
  });
});
