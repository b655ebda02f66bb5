import { expect, test } from 'vitest';
import { drawn } from '../../test/seed.js';
import { isFullRun } from '../requirements.js';
import { historyOf } from './history.js';
import { runHistory } from './run-history.js';

/** A few of what `npm run soak` plays at length: each kind of history once; full runs have more of each. */
const seeds = isFullRun ? [1, 3, 6, 7, 8, 12] : drawn([3, 7]);
/** Of histories whose chunks and databases move. */
const movingSeeds = isFullRun ? [1, 2] : [2];
/** Of histories whose destination is a replica set. */
const replicaSetSeeds = isFullRun ? [5, 9] : [5];

const usual = { moves: false, toReplicaSet: false, timeSeries: false } as const;
/** Of histories that all have time series. */
const seriesSeeds = isFullRun ? [1, 2, 3] : [2];

const choices = [
  ...seeds.map((seed) => ({ ...usual, seed })),
  ...movingSeeds.map((seed) => ({ ...usual, seed, moves: true })),
  ...replicaSetSeeds.map((seed) => ({ ...usual, seed, toReplicaSet: true })),
  ...seriesSeeds.map((seed) => ({ ...usual, seed, timeSeries: true })),
];

test.for(choices)(
  'the destination of the random history of seed $seed equals its source (moves: $moves, replica set: $toReplicaSet, ' +
    'time series: $timeSeries)',
  async (one) => {
    const errors: string[] = [];
    const stats = await runHistory(historyOf({ ...one, ddlChanges: null, path: null }), {
      verbosity: 'ERROR',
      write: (line) => errors.push(line),
    }).catch((error: unknown) => {
      throw new Error(errors.join('\n'), { cause: error });
    });
    expect(stats.simulated_ms).toBeGreaterThan(0);
  },
);
