import { expect, test } from 'vitest';
import { historyOf } from './history.js';
import { runHistory } from './run-history.js';

/** A few of what `npm run soak` plays at length: all kinds of histories in seconds. */
const seeds = [1, 3, 6, 7, 8, 12];

/** Some with chunks and databases that move, and some whose destination is a replica set. */
const choices = [
  ...seeds.map((seed) => ({ seed, moves: false, toReplicaSet: false })),
  ...[1, 2].map((seed) => ({ seed, moves: true, toReplicaSet: false })),
  ...[5, 9].map((seed) => ({ seed, moves: false, toReplicaSet: true })),
];

test.for(choices)(
  'the destination of the random history of seed $seed (moves: $moves, replica set: $toReplicaSet) equals its source',
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
