import fc from 'fast-check';
import { describe, it } from 'vitest';
import { stepsOfCollections, stepsWithDdl } from '../model/ddl.js';
import { equalAfterHistories, historiesOf, historiesWithin_ms } from '../model/equal-after-histories.js';
import type { WorldOptions } from '../model/world.js';
import { modelIds } from '../model/workload.js';

const quiet = { network: 0, snapshotTooOld: 0, cursorLost: 0 };
const rough = { network: 0.01, snapshotTooOld: 0.02, cursorLost: 0.02 };
const noEnds = { stop: 0, crash: 0, freeze: 0 };
const ends = { stop: 0.003, crash: 0.006, freeze: 0.003 };

type Settings = Pick<WorldOptions, 'faults' | 'ends'> & { leaderEnds: number; access: 'direct' | 'router' };

/**
 * Random histories with drops, renames, exchanged names and recreated collections. The message of a failure has its
 * seed and history.
 */
async function destinationEqualsSource({ access, leaderEnds, ...settings }: Settings, numRuns: number): Promise<void> {
  const place = fc.nat({ max: modelIds.length - 1 });
  const history = fc.record({
    seed: fc.nat(),
    shards: fc.integer({ min: 1, max: 4 }),
    pace: fc.constantFrom(0.03, 0.1, 0.3),
    before: fc.array(stepsOfCollections, { minLength: 4, maxLength: 16, size: 'max' }),
    during: fc.array(stepsWithDdl, { minLength: 10, maxLength: 60, size: 'max' }),
    after: fc.array(stepsWithDdl, { maxLength: 4, size: 'max' }),
    bounds: access === 'direct' ? fc.constant(null) : fc.array(place, { maxLength: 3 }),
    ddlChanges: fc.record({
      showsCreations: fc.boolean(),
      showsEachCopy: fc.boolean(),
      leaderEnds: fc.constant(leaderEnds),
    }),
  });
  await equalAfterHistories(history, (changes) => ({ ...settings, ...changes }), historiesOf(numRuns));
}

describe('names and documents of the destination equal those of the source', () => {
  it(
    'when collections are dropped, renamed, exchanged and recreated',
    async () => {
      await destinationEqualsSource({ access: 'direct', faults: quiet, ends: noEnds, leaderEnds: 0 }, 20);
    },
    historiesWithin_ms,
  );

  it(
    'when calls are lost and leaders change',
    async () => {
      await destinationEqualsSource({ access: 'direct', faults: rough, ends: noEnds, leaderEnds: 0.003 }, 20);
    },
    historiesWithin_ms,
  );

  it(
    'when processes, leaders too, stop, crash and freeze',
    async () => {
      await destinationEqualsSource({ access: 'direct', faults: rough, ends, leaderEnds: 0.003 }, 20);
    },
    historiesWithin_ms,
  );

  it(
    'when the source is read through its router',
    async () => {
      await destinationEqualsSource({ access: 'router', faults: quiet, ends: noEnds, leaderEnds: 0 }, 20);
    },
    historiesWithin_ms,
  );

  it(
    'when the source is read through its router and processes stop, crash and freeze',
    async () => {
      await destinationEqualsSource({ access: 'router', faults: rough, ends, leaderEnds: 0.003 }, 20);
    },
    historiesWithin_ms,
  );
});
