import fc from 'fast-check';
import { expect } from 'vitest';
import { isFullRun } from '../../../../../test/seed.js';
import { World, type WorldOptions } from './world.js';

/** For longer searches than every run of the tests needs. */
const runsFactor = Number(process.env.CONVOY_TEST_RUNS ?? 1);

/** The machine may be busy with other tests. */
export const historiesWithin_ms = 120_000 * runsFactor;

const usualPart = 0.4;

/** How many of the histories of a full run this run plays. */
export function historiesOf(count: number): number {
  return isFullRun ? count : Math.ceil(count * usualPart);
}

/**
 * Plays random histories: the destination has to equal the source. The message of a failure has its seed and history.
 */
export async function equalAfterHistories<Changes>(
  histories: fc.Arbitrary<Changes>,
  inputOf: (changes: Changes) => WorldOptions,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(histories, async (changes) => {
      const { expected, found, violations } = await new World(inputOf(changes)).run();
      expect(violations).toEqual([]);
      expect(found).toEqual(expected);
    }),
    { numRuns: numRuns * runsFactor, endOnFailure: true },
  );
}
