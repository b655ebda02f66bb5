import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { migrationStates, type MigrationState } from '@convoy/api/contract/progress';
import { fleetState } from '../../../src/progress/fleet-state.js';

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
