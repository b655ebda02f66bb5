import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type MigrationState, migrationStates, type Progress } from '@convoy/api/contract/progress';
import { sourceWritesText } from '../../../src/dashboard/views/progress-texts.js';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import { fleetState, fleetWrites } from '../../../src/director/fold-reports.js';
import { snapshot } from './snapshots.js';

const order: readonly MigrationState[] = ['INITIALIZING', 'IDLE', 'RUNNING', 'COMMITTING', 'COMMITTED'];

describe('fleetState', () => {
  it.each<[MigrationState[], MigrationState]>([
    [['RUNNING', 'IDLE'], 'IDLE'],
    [['IDLE', 'INITIALIZING'], 'INITIALIZING'],
    [['COMMITTED', 'COMMITTING'], 'COMMITTING'],
    [['COMMITTED', 'RUNNING'], 'RUNNING'],
    [['PAUSED', 'PAUSED'], 'PAUSED'],
    [['PAUSED', 'RUNNING'], 'RUNNING'],
    [['PAUSED', 'COMMITTED'], 'RUNNING'],
    [['REVERSING', 'COMMITTED'], 'REVERSING'],
    [['REVERSING', 'RUNNING'], 'REVERSING'],
    [['REVERSING', 'IDLE'], 'IDLE'],
  ])('of %j is %s', (states, expected) => {
    expect(fleetState(states)).toBe(expected);
  });

  it("does not depend on the instances' order, and is never more advanced than any", () => {
    const rank = (state: MigrationState): number =>
      order.indexOf(state === 'PAUSED' || state === 'REVERSING' ? 'RUNNING' : state);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...migrationStates), { minLength: 1, maxLength: 8 }), (states) => {
        const state = fleetState(states);
        expect(fleetState([...states].reverse())).toBe(state);
        expect(rank(state)).toBe(Math.min(...states.map(rank)));
        expect(state === 'PAUSED').toBe(states.every((one) => one === 'PAUSED'));
      }),
    );
  });
});

function writesTo(names: Readonly<Record<string, number>>, lastWriteAt: string): NonNullable<Progress['sourceWrites']> {
  const namespaces = Object.entries(names).map(([namespace, writes]) => ({ namespace, writes }));
  return {
    windowSeconds: 10,
    writes: namespaces.reduce((sum, { writes }) => sum + writes, 0),
    namespaces,
    lastWriteAt,
  };
}

const here = writesTo({ 'shop.a': 1_000, 'shop.b': 2 }, '2026-01-01T00:00:01.000Z');
const there = writesTo({ 'shop.a': 500, 'shop.c': 3, 'shop.d': 1 }, '2026-01-01T00:00:05.000Z');

test('the writes of a fleet are the sums of its shards', () => {
  const all = fleetWrites([here, there]);
  expect(all).toMatchObject({ writes: 1_506, lastWriteAt: '2026-01-01T00:00:05.000Z' });
  expect(all?.namespaces[0]).toEqual({ namespace: 'shop.a', writes: 1_500 });
  expect(sourceWritesText({ state: 'RUNNING', sourceWrites: all })).toBe(
    '1,506 writes to the source in the last 10 s: shop.a 1,500, shop.c 3, shop.b 2, others 1.',
  );
});

test('they are unknown while those of one shard are: nobody may conclude that writes have ended', () => {
  expect(fleetWrites([here, null])).toBeNull();
  expect(fleetWrites([])).toBeNull();
  expect(sourceWritesText({ state: 'RUNNING', sourceWrites: null })).toMatch(/^It is unknown/);
});

test('they are unknown while an instance is silent: its last report says nothing about the present', () => {
  const one = { expectedIds: ['a', 'b'], progress: { sourceWrites: here } };
  const writesWith = (fresh: boolean) =>
    aggregateProgress(snapshot({ a: one, b: { ...one, fresh } }), null).progress.sourceWrites;
  expect(writesWith(true)?.writes).toBe(2_004);
  expect(writesWith(false)).toBeNull();
});

test('without a write the sentence says so, and there is none once it does not matter', () => {
  const none = { ...here, writes: 0, namespaces: [] };
  expect(sourceWritesText({ state: 'COMMITTING', sourceWrites: none })).toBe(
    'No write to the source in the last 10 s.',
  );
  expect(sourceWritesText({ state: 'COMMITTED', sourceWrites: null })).toBe('');
});
