import { beforeEach, describe, expect, it } from 'vitest';
import { parseEvent } from '../../../src/apply/event.js';
import { collectionOf } from '../model/parts.js';
import { ddlWatermark, DispatcherFixture, event, step } from './dispatcher-fixture.js';
import { bringTo } from '../model/partition-states.js';

let fixture: DispatcherFixture;

beforeEach(() => {
  fixture = new DispatcherFixture();
});

/** What an event counts in the budget, its objects included. */
function sizeOf(bytes: Uint8Array): number {
  const parsed = parseEvent(bytes);
  return parsed.kind === 'data' ? parsed.event.bytes : bytes.length;
}

describe('the ceiling', () => {
  it('keeps later events and the position below it, until a later one is set', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(20n), event(21n)], 30n));
    expect(fixture.routedTimes).toEqual([20n]);
    expect([dispatcher.position, dispatcher.readBelow, dispatcher.writesAboveCeiling.writes]).toEqual([20n, 30n, 1]);
    dispatcher.setCeiling(25n);
    expect(fixture.routedTimes).toEqual([20n, 21n]);
    expect([dispatcher.position, dispatcher.writesAboveCeiling.writes]).toEqual([25n, 0]);
  });

  it('below what a predecessor had reached does not keep the stream from being heard', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.setCeiling(5n);
    expect(dispatcher.heard).toBe(false);
    dispatcher.route(step([], 30n));
    expect([dispatcher.heard, dispatcher.position]).toEqual([true, 9n]);
  });

  it('is no earlier for having been set before', () => {
    const dispatcher = fixture.dispatcherOf();
    dispatcher.setCeiling(20n);
    dispatcher.setCeiling(15n);
    dispatcher.route(step([], 30n));
    expect(dispatcher.position).toBe(20n);
  });

  it('counts what was routed before it was known as written above it', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(25n)], 26n));
    dispatcher.setCeiling(20n);
    expect(dispatcher.writesAboveCeiling.writes).toBe(1);
    expect(dispatcher.lastWrite).toBe(25n);
  });

  it('is not below what was routed already, so that a repair which needs it can be read', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(25n)], 25n));
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(25n), event(26n)], 30n));
    expect(dispatcher.position).toBe(25n);
    expect(dispatcher.writesAboveCeiling.writes).toBe(3);
  });

  it('names the collections of which documents were deleted above it, and does not count the deletes', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(20n, { operation: 'delete' }), event(21n, { operation: 'delete' }), event(22n)], 30n));
    expect(dispatcher.writesAboveCeiling).toEqual({ writes: 1, deletedIn: new Set([collectionOf().uuid]) });
    dispatcher.setCeiling(25n);
    expect(dispatcher.writesAboveCeiling).toEqual({ writes: 0, deletedIn: new Set() });
  });

  it('counts writes that an earlier process had routed above it', () => {
    const dispatcher = fixture.dispatcherOf({}, collectionOf(), 25n);
    dispatcher.setCeiling(20n);
    expect(dispatcher.writesAboveCeiling.writes).toBe(1);
  });

  it('keeps nothing that the filter leaves out, so that users who write it do not fill the budget', () => {
    const dispatcher = fixture.dispatcherOf({ collections: new Map(), includes: () => false });
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(21n)], 30n));
    dispatcher.setCeiling(40n);
    expect([fixture.budget.used, fixture.found]).toEqual([0, []]);
  });

  it('leaves out what the filter leaves out', () => {
    const dispatcher = fixture.dispatcherOf({ includes: () => false });
    dispatcher.setCeiling(20n);
    dispatcher.route(step([event(21n)], 30n));
    expect(dispatcher.writesAboveCeiling.writes).toBe(0);
  });
});

describe('the horizon', () => {
  it('keeps events at and above it, which count in the budget, until it has moved on', () => {
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

  it('is no reason to read what is kept twice when the stream is opened again', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.route(step([event(ddlWatermark), event(ddlWatermark + 2n)], ddlWatermark + 2n));
    dispatcher.route(step([], ddlWatermark + 2n, { reopened: true }));
    dispatcher.route(step([event(ddlWatermark + 2n), event(ddlWatermark + 3n)], ddlWatermark + 4n));
    dispatcher.setDdlWatermark(ddlWatermark + 100n);
    expect(fixture.routedTimes).toEqual([ddlWatermark, ddlWatermark + 2n, ddlWatermark + 3n]);
    expect(fixture.routed.every(({ bounds }) => bounds.watermark === 0n)).toBe(true);
  });

  it('below the commit time limits what is fixture.routed, and above it does not', () => {
    const dispatcher = fixture.dispatcherOf();
    bringTo(fixture.partition, 'done');
    dispatcher.setCeiling(ddlWatermark + 2n);
    dispatcher.route(step([event(ddlWatermark + 1n), event(ddlWatermark + 3n)], ddlWatermark + 10n));
    expect([dispatcher.position, dispatcher.writesAboveCeiling.writes]).toEqual([ddlWatermark - 1n, 1]);
    dispatcher.setDdlWatermark(ddlWatermark + 50n);
    expect([fixture.routedTimes, dispatcher.position, dispatcher.writesAboveCeiling.writes]).toEqual([
      [ddlWatermark + 1n],
      ddlWatermark + 2n,
      1,
    ]);
  });
});

describe('after a restart', () => {
  it('everything up to begun has to be read again before anything counts as drained', () => {
    const dispatcher = fixture.dispatcherOf({ watermark: 30n });
    dispatcher.setCeiling(20n);
    dispatcher.route(step([], 30n));
    expect(dispatcher.readAgain).toBe(false);
    dispatcher.route(step([], 31n));
    expect(dispatcher.readAgain).toBe(true);
  });

  it('repairs wait until what may have been applied was routed again, or until the ceiling', () => {
    const dispatcher = fixture.dispatcherOf({ watermark: 30n });
    dispatcher.route(step([], 30n));
    expect(dispatcher.replayed).toBe(false);
    dispatcher.route(step([], 31n));
    expect(dispatcher.replayed).toBe(true);
    const limited = fixture.dispatcherOf({ watermark: 30n });
    limited.setCeiling(20n);
    limited.route(step([], 25n));
    expect(limited.replayed).toBe(true);
  });
});
