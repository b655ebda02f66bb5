import fc from 'fast-check';
import { describe, it } from 'vitest';
import { equalAfterHistories, historiesOf, historiesWithin_ms } from '../../model/equal-after-histories.js';
import type { WorldOptions } from '../../model/world.js';
import { modelIds, stepsOfCluster, steps } from '../../model/workload.js';

const quiet = { network: 0, snapshotTooOld: 0, cursorLost: 0 };
const rough = { network: 0.01, snapshotTooOld: 0.03, cursorLost: 0.02 };
const noEnds = { stop: 0, crash: 0, freeze: 0 };

type Settings = Pick<WorldOptions, 'shards' | 'faults' | 'ends' | 'rereadRequestsMax'>;

/** Random histories with these settings. The message of a failure has its seed and history. */
async function destinationEqualsSource(
  settings: Settings,
  numRuns: number,
  step = steps,
  access: 'direct' | 'router' = 'direct',
): Promise<void> {
  const place = fc.nat({ max: modelIds.length - 1 });
  const bounds = access === 'direct' ? fc.constant(null) : fc.array(place, { maxLength: settings.shards - 1 });
  const history = fc.record({
    seed: fc.nat(),
    pace: fc.constantFrom(0.03, 0.1, 0.3),
    before: fc.array(step, { minLength: 4, maxLength: 16, size: 'max' }),
    during: fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
    after: fc.array(step, { maxLength: 6, size: 'max' }),
    bounds,
  });
  await equalAfterHistories(history, (changes) => ({ ...settings, ...changes }), historiesOf(numRuns));
}

describe('the destination equals the source byte for byte', () => {
  it(
    'in one task without faults',
    async () => {
      await destinationEqualsSource({ shards: 1, faults: quiet, ends: noEnds }, 60);
    },
    historiesWithin_ms,
  );

  it(
    'in one task with lost calls, lost cursors and read times that become too old',
    async () => {
      await destinationEqualsSource({ shards: 1, faults: rough, ends: noEnds }, 60);
    },
    historiesWithin_ms,
  );

  it(
    'in one task whose process stops, crashes and freezes',
    async () => {
      await destinationEqualsSource(
        { shards: 1, faults: rough, ends: { stop: 0.004, crash: 0.008, freeze: 0.004 } },
        60,
      );
    },
    historiesWithin_ms,
  );

  it(
    'in one task that copies ranges with many pending re-reads again, and whose process crashes',
    async () => {
      await destinationEqualsSource(
        { shards: 1, faults: rough, ends: { stop: 0.004, crash: 0.008, freeze: 0.004 }, rereadRequestsMax: 2 },
        25,
      );
    },
    historiesWithin_ms,
  );

  it(
    'in two tasks that copy ranges with many pending re-reads again',
    async () => {
      await destinationEqualsSource({ shards: 2, faults: rough, ends: noEnds, rereadRequestsMax: 3 }, 25);
    },
    historiesWithin_ms,
  );

  it(
    'in two tasks between which documents move',
    async () => {
      await destinationEqualsSource({ shards: 2, faults: quiet, ends: noEnds }, 60);
    },
    historiesWithin_ms,
  );

  it(
    'in two tasks between which documents move, whose processes crash and freeze',
    async () => {
      await destinationEqualsSource(
        { shards: 2, faults: rough, ends: { stop: 0.004, crash: 0.008, freeze: 0.004 } },
        60,
      );
    },
    historiesWithin_ms,
  );

  it(
    'in two tasks with equal _ids on both shards and changes of orphans, whose processes crash and freeze',
    async () => {
      await destinationEqualsSource(
        { shards: 2, faults: rough, ends: { stop: 0.004, crash: 0.008, freeze: 0.004 } },
        60,
        stepsOfCluster,
      );
    },
    historiesWithin_ms,
  );

  it(
    'in two tasks of a router, with equal _ids on both shards and changes of orphans',
    async () => {
      await destinationEqualsSource({ shards: 2, faults: quiet, ends: noEnds }, 60, stepsOfCluster, 'router');
    },
    historiesWithin_ms,
  );

  it(
    'in tasks of a router with lost calls, lost cursors and read times that become too old',
    async () => {
      await destinationEqualsSource({ shards: 3, faults: rough, ends: noEnds }, 60, stepsOfCluster, 'router');
    },
    historiesWithin_ms,
  );

  it(
    'in tasks of a router whose processes stop, crash and freeze',
    async () => {
      await destinationEqualsSource(
        { shards: 2, faults: rough, ends: { stop: 0.004, crash: 0.008, freeze: 0.004 } },
        60,
        stepsOfCluster,
        'router',
      );
    },
    historiesWithin_ms,
  );
});
