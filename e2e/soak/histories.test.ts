import { expect, test } from 'vitest';
import { historyOf } from './history.js';
import { runHistory } from './run-history.js';

/** A few of what `npm run soak` plays at length: all kinds of histories in seconds. */
const seeds = [1, 3, 6, 7, 8, 12];

/** Some with chunks and databases that move. */
const choices = [...seeds.map((seed) => ({ seed, moves: false })), ...[1, 2].map((seed) => ({ seed, moves: true }))];

test.for(choices)(
  'the destination of the random history of seed $seed (moves: $moves) equals its source',
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
