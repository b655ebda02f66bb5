import { describe, expect, it } from 'vitest';
import {
  newDifference,
  isGivenUp,
  type LookResult,
  nextHistory,
  rereadsMax,
  restoredHistory,
  type DifferenceHistory,
  storedHistory,
} from '../../../../src/verify/embedded/stored-mismatch.js';

/** A check at time `time`, when everything up to `applied` was applied. */
const look = (
  time: bigint,
  { state = 'a/b', applied = time, rereadTasks = ['shard0', 'shard1'] }: Partial<LookResult> = {},
): LookResult => ({ state, sourceTime: time, applied, rereadTasks });

/** The history of a difference after some checks. */
const after = (looks: readonly LookResult[], before: DifferenceHistory = newDifference): DifferenceHistory =>
  looks.reduce(nextHistory, before);

const taken = (history: DifferenceHistory): DifferenceHistory => ({ ...history, waiting: [] });
const same = [look(1n), look(2n), look(3n), look(4n)];

describe('a document that differs', () => {
  it('is proven, and handed over for a re-read, if it was the same in three checks after the first', () => {
    expect(after(same.slice(0, 3))).toMatchObject({ proven: false, rereads: 0, waiting: [] });
    expect(after(same)).toMatchObject({ proven: true, rereads: 1, waiting: ['shard0', 'shard1'] });
  });

  it('is not while its change may be in flight', () => {
    expect(after([10n, 11n, 12n, 13n, 14n, 15n].map((time) => look(time, { applied: 9n })))).toMatchObject({
      proven: false,
      rereads: 0,
    });
  });

  it('is not while either side changes, but is re-read if that continues', () => {
    const restless = Array.from({ length: 20 }, (_, n) => look(BigInt(n + 1), { state: `${n}/b` }));
    expect(after(restless.slice(0, -1))).toMatchObject({ proven: false, rereads: 0 });
    expect(after(restless)).toMatchObject({ proven: false, rereads: 1 });
  });

  it('does not count as re-read before all sync tasks have accepted it', () => {
    const given = after(same);
    expect(after(same, given)).toEqual(given);
  });

  it('is handed over a limited number of times, and then left to the operator', () => {
    const later = [5n, 6n, 7n].map((time) => look(time, { applied: 100n }));
    let history = after(same);
    for (let rereads = 1; rereads < rereadsMax; rereads += 1) {
      expect([history.rereads, isGivenUp(history)]).toEqual([rereads, false]);
      history = after(later, taken(history));
    }
    expect(isGivenUp(taken(history))).toBe(false);
    const last = after(later, taken(history));
    expect([last.rereads, last.waiting, isGivenUp(last)]).toEqual([rereadsMax, [], true]);
  });

  it('is not handed over while nothing is to be re-read', () => {
    expect(after(same.map((one) => ({ ...one, rereadTasks: [] })))).toMatchObject({
      proven: true,
      rereads: 0,
      waiting: [],
    });
  });

  it('stays the same after a restart; what an earlier release stored starts anew', () => {
    expect(restoredHistory(storedHistory(after(same)))).toEqual(after(same));
    expect(restoredHistory(undefined)).toEqual(newDifference);
  });
});
