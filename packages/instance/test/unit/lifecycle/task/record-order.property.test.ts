import fc from 'fast-check';
import { describe, it } from 'vitest';
import { equalAfterHistories, historiesOf, historiesWithin_ms } from '../../model/equal-after-histories.js';
import type { WorldOptions } from '../../model/world.js';
import { steps, stepsOfCluster } from '../../model/workload.js';

const quiet = { network: 0, snapshotTooOld: 0, cursorLost: 0 };
const rough = { network: 0.01, snapshotTooOld: 0.03, cursorLost: 0.02 };
const noEnds = { stop: 0, crash: 0, freeze: 0 };
const ends = { stop: 0.004, crash: 0.008, freeze: 0.004 };

type Settings = Pick<WorldOptions, 'shards' | 'faults' | 'ends' | 'rereadRequestsMax' | 'inRecordOrder'>;

/** Random histories with these settings, read directly from the shards in the order of their records. */
async function destinationEqualsSource(settings: Settings, numRuns: number): Promise<void> {
  const step = settings.shards === 1 ? steps : stepsOfCluster;
  const history = fc.record({
    seed: fc.nat(),
    pace: fc.constantFrom(0.03, 0.1, 0.3),
    before: fc.array(step, { minLength: 10, maxLength: 24, size: 'max' }),
    during: fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
    after: fc.array(step, { maxLength: 6, size: 'max' }),
  });
  await equalAfterHistories(history, (changes) => ({ ...settings, bounds: null, ...changes }), historiesOf(numRuns));
}

describe('the destination equals the source byte for byte after a copy in record order', () => {
  it(
    'in one task without faults',
    async () => {
      await destinationEqualsSource({ shards: 1, faults: quiet, ends: noEnds, inRecordOrder: { elections: 0 } }, 15);
    },
    historiesWithin_ms,
  );

  it(
    'in one task with lost calls, lost cursors, times that become too old and elections, whose process crashes',
    async () => {
      await destinationEqualsSource({ shards: 1, faults: rough, ends, inRecordOrder: { elections: 0.01 } }, 25);
    },
    historiesWithin_ms,
  );

  it(
    'in two tasks that give up record order when many documents change',
    async () => {
      await destinationEqualsSource(
        { shards: 2, faults: rough, ends, rereadRequestsMax: 4, inRecordOrder: { elections: 0.003 } },
        15,
      );
    },
    historiesWithin_ms,
  );
});
