import { describe, expect, it } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { type CommitRound, type MigrationPhase, migrationPhases } from '../../../src/store/migration-record.js';
import {
  checkDrained,
  checkEpoch,
  checkLedWrite,
  checkTaskWrite,
  type LedState,
  stateRules,
} from '../../../src/store/state-rules.js';

const at = (time: number) => timestampOf(BigInt(time));

function led(state: Partial<LedState> = {}): LedState {
  return { phase: 'committing', leaderEpoch: 1, startTime: at(1), commit: null, ...state };
}

function roundOf(round: number, time: number, catalogEpoch: number | null = null): CommitRound {
  return { round, time: at(time), sealed: catalogEpoch !== null, catalogEpoch };
}

function broken(rule: keyof typeof stateRules): object {
  return expect.objectContaining({
    error: 'internalError',
    errorDescription: expect.stringContaining(`${stateRules[rule]} (${rule}`) as string,
  }) as object;
}

describe('the phase', () => {
  const allowed: readonly [MigrationPhase, MigrationPhase][] = [
    ['starting', 'syncing'],
    ['syncing', 'committing'],
    ['committing', 'opening'],
    ['opening', 'committed'],
    ['committed', 'reversing'],
    ['reversing', 'syncing'],
  ];

  it.each(allowed)('%s is followed by %s', (phase, next) => {
    expect(() => checkLedWrite(led({ phase }), { phase: next })).not.toThrow();
  });

  it.each(migrationPhases)('%s may be written again', (phase) => {
    expect(() => checkLedWrite(led({ phase }), { phase })).not.toThrow();
  });

  it.each([
    ['starting', 'committing'],
    ['syncing', 'opening'],
    ['syncing', 'committed'],
    ['committing', 'committed'],
    ['opening', 'reversing'],
    ['reversing', 'committing'],
  ] as const)('%s is not followed by %s', (phase, next) => {
    expect(() => checkLedWrite(led({ phase }), { phase: next })).toThrow(broken('phaseFollows'));
  });

  it('that would be set back is left to the condition of the write', () => {
    expect(() => checkLedWrite(led({ phase: 'opening' }), { phase: 'committing' })).not.toThrow();
  });
});

describe('the start time', () => {
  it('is set with the phase syncing', () => {
    const set = { phase: 'syncing' as const, startTime: at(9) };
    expect(() => checkLedWrite(led({ phase: 'starting', startTime: null }), set)).not.toThrow();
  });

  it('stays afterwards, until a swap sets that of the other direction', () => {
    expect(() => checkLedWrite(led(), { startTime: at(2) })).toThrow(broken('startTimeStays'));
    const swap = { phase: 'reversing' as const, startTime: at(2), commit: null };
    expect(() => checkLedWrite(led({ phase: 'committed' }), swap)).not.toThrow();
  });
});

describe('a commit round', () => {
  it.each([
    ['the first one', null, roundOf(1, 5)],
    ['the next one', roundOf(1, 5), roundOf(2, 6)],
    ['the same one, sealed', roundOf(2, 6), roundOf(2, 6, 1)],
    ['the same one again', roundOf(2, 6), roundOf(2, 6)],
    ['an earlier one, which matches nothing', roundOf(2, 6), roundOf(1, 5)],
  ])('may be %s', (_what, commit, next) => {
    expect(() => checkLedWrite(led({ commit }), { commit: next })).not.toThrow();
  });

  it.each([
    ['leaves none out', roundOf(1, 5), roundOf(3, 7), 'roundsRise'],
    ['has a later time', roundOf(1, 5), roundOf(2, 5), 'roundsRise'],
    ['keeps its time', roundOf(2, 6), roundOf(2, 7), 'roundsRise'],
    ['is sealed only once it has begun', roundOf(1, 5), roundOf(2, 6, 1), 'sealedWithCatalog'],
    ['keeps its time when it is sealed', roundOf(2, 6), roundOf(2, 7, 1), 'roundsRise'],
  ] as const)('%s', (_what, commit, next, rule) => {
    expect(() => checkLedWrite(led({ commit }), { commit: next })).toThrow(broken(rule));
  });

  it('is not sealed without a catalog', () => {
    const sealed = { ...roundOf(1, 5), sealed: true };
    expect(() => checkLedWrite(led({ commit: roundOf(1, 5) }), { commit: sealed })).toThrow(
      broken('sealedWithCatalog'),
    );
  });
});

it('a comparison has a higher number than the one before', () => {
  const asked = (number: number) => ({ number, source: at(5), destination: at(6), restored: false });
  expect(() => checkLedWrite(led(), { verification: asked(1) })).not.toThrow();
  expect(() => checkLedWrite(led({ verification: asked(1) }), { verification: asked(2) })).not.toThrow();
  expect(() => checkLedWrite(led({ verification: asked(1) }), { verification: asked(1) })).toThrow(
    broken('comparisonsRise'),
  );
});

it('users may write to the destination once it is opening', () => {
  expect(() => checkLedWrite(led({ phase: 'opening' }), { canWrite: true })).not.toThrow();
  expect(() => checkLedWrite(led(), { canWrite: true })).toThrow(broken('writableOnceOpening'));
});

it('epochs rise', () => {
  expect(() => checkEpoch('taskEpochsRise', undefined, 1)).not.toThrow();
  expect(() => checkEpoch('taskEpochsRise', 1, 3)).not.toThrow();
  expect(() => checkEpoch('taskEpochsRise', 3, 3)).toThrow(broken('taskEpochsRise'));
  expect(() => checkEpoch('leaderEpochsRise', 3, 2)).toThrow(broken('leaderEpochsRise'));
});

describe('what a task stores', () => {
  const stored = { applyWatermark: at(5), acknowledged: 2, eventsApplied: 7 };

  it('rises, or stays', () => {
    expect(() => checkTaskWrite(stored, { applyWatermark: at(6), acknowledged: 2, eventsApplied: 8 })).not.toThrow();
    expect(() => checkTaskWrite({ ...stored, applyWatermark: null }, { applyWatermark: at(1) })).not.toThrow();
    expect(() => checkTaskWrite(stored, { checkpoint: at(1), copyDone: false })).not.toThrow();
  });

  it.each([{ applyWatermark: at(4) }, { acknowledged: 1 }, { eventsApplied: 6 }])('does not fall: %o', (fields) => {
    expect(() => checkTaskWrite(stored, fields)).toThrow(broken('taskTotalsRise'));
  });

  it('is no round before one that it has drained', () => {
    const drained = { round: 2, eventsAbove: 0 };
    expect(() => checkDrained(null, drained)).not.toThrow();
    expect(() => checkDrained(drained, drained)).not.toThrow();
    expect(() => checkDrained(drained, { ...drained, round: 1 })).toThrow(broken('drainedRoundsRise'));
  });
});
