import { describe, expect, it } from 'vitest';
import { type LagReadings, LagTracker } from '../../../../src/lifecycle/instance/lag.js';

const task = { lag_seconds: 3, readLag_seconds: 1, followsStream: true, copyDone: true };

function inputOf(changes: Partial<LagReadings> = {}): LagReadings {
  const ddlChanges = { known: 0, done: 0 };
  return {
    at_ms: 0,
    stats: [task],
    sourceTime_seconds: 1000,
    ddlWatermark_seconds: 998,
    ddlChanges,
    oplogRemaining_seconds: null,
    ...changes,
  };
}

/** The tracker's last result for a series of moments, a second apart. */
function after(...moments: Partial<LagReadings>[]) {
  const tracker = new LagTracker();
  const said = moments.map((changes, second) => tracker.take(inputOf({ at_ms: second * 1000, ...changes })));
  const last = said.at(-1);
  if (last === undefined) throw new Error('no moments');
  return { ...last, names: last.warnings.map(({ name }) => name) };
}

describe('the lag of DDL changes', () => {
  it('is the distance from the source to its DDL watermark', () => {
    expect(after({}).ddlLag_seconds).toBe(2);
    expect(after({ ddlWatermark_seconds: 1003 }).ddlLag_seconds).toBe(0);
  });

  it.each([{ sourceTime_seconds: null }, { ddlWatermark_seconds: null }])('is unknown without both: %j', (changes) => {
    expect(after(changes).ddlLag_seconds).toBeNull();
  });

  it('grows while a change waits to be applied, though the DDL watermark advances, and ends with it', () => {
    const waiting = { ddlChanges: { known: 3, done: 2 } };
    const later = { sourceTime_seconds: 1040, ddlWatermark_seconds: 1039 };
    expect(after(waiting, { ...waiting, ...later }).ddlLag_seconds).toBe(40);
    expect(after(waiting, { ...later, ddlChanges: { known: 3, done: 3 } }).ddlLag_seconds).toBe(1);
  });

  it('of a next change starts again', () => {
    const first = { ddlChanges: { known: 3, done: 2 } };
    const second = { ddlChanges: { known: 4, done: 3 }, sourceTime_seconds: 1040, ddlWatermark_seconds: 1040 };
    expect(after(first, second).ddlLag_seconds).toBe(0);
  });
});

describe('the time to catch up', () => {
  const behind = Array.from({ length: 12 }, (_, second) => ({
    stats: [task, { ...task, lag_seconds: 500 - 10 * second }],
  }));

  it('is that of the task that is furthest behind, in whole seconds', () => {
    expect(after(...behind).catchUp_seconds).toBe(39);
  });

  it.each([
    ['during the copy', { ...task, copyDone: false }],
    ['as long as a task does not follow its stream', { ...task, followsStream: false }],
  ])('is unknown %s', (_when, other) => {
    const copying = behind.map(({ stats }) => ({ stats: [...stats, other] }));
    expect(after(...copying).catchUp_seconds).toBeNull();
  });

  it('is unknown while nothing runs', () => {
    expect(after(...behind, { stats: [] })).toMatchObject({ catchUp_seconds: null, warnings: [] });
  });
});

describe('a warning', () => {
  it('warns that the stream reader is far behind, until it is near again', () => {
    const read = (readLag_seconds: number): Partial<LagReadings> => ({ stats: [{ ...task, readLag_seconds }] });
    expect(after(read(60)).names).toEqual([]);
    expect(after(read(61)).names).toEqual(['streamFarBehind']);
    expect(after(read(61), read(40)).names).toEqual(['streamFarBehind']);
    expect(after(read(61), read(40), read(30)).names).toEqual([]);
  });

  it('warns that a lag does not shrink, after a while', () => {
    const standing = (seconds: number): Partial<LagReadings>[] =>
      Array.from({ length: seconds }, () => ({ stats: [{ ...task, lag_seconds: 300 }] }));
    expect(after(...standing(60)).names).toEqual([]);
    expect(after(...standing(61)).names).toEqual(['notCatchingUp']);
    expect(after(...standing(61), {}).names).toEqual([]);
  });

  it('blames no lack of capacity for a lag while the source does not answer', () => {
    const silent = { stats: [{ ...task, lag_seconds: 300, readLag_seconds: 300 }], isAwaitingSource: true };
    const standing = Array.from({ length: 70 }, () => silent);
    expect(after(...standing).names).toEqual([]);
    expect(after(...standing, { ...silent, isAwaitingSource: false }).names).toEqual(['streamFarBehind']);
  });

  it('warns that an oplog runs out, until there is room again', () => {
    const left = (oplogRemaining_seconds: number | null): Partial<LagReadings> => ({ oplogRemaining_seconds });
    expect(after(left(3600)).names).toEqual([]);
    expect(after(left(3599)).names).toEqual(['oplogRunningOut']);
    expect(after(left(3599), left(5000)).names).toEqual(['oplogRunningOut']);
    expect(after(left(3599), left(5000), left(7200)).names).toEqual([]);
    expect(after(left(3599), left(null)).names).toEqual([]);
  });

  it('says the same as long as it is there', () => {
    const [first, second] = [59, 30].map((minutes) => after({ oplogRemaining_seconds: minutes * 60 - 1 }).warnings);
    expect(first).toEqual(second);
  });
});
