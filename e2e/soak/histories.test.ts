import { expect, test } from 'vitest';
import { historyOf } from './history.js';
import { runHistory } from './run-history.js';

/** A few of what `npm run soak` plays at length: all kinds of histories in seconds. */
const seeds = [1, 3, 6, 7, 8, 12];

test.for(seeds)('the destination of the random history of seed %i equals its source', async (seed) => {
  const errors: string[] = [];
  const stats = await runHistory(historyOf({ seed, ddlChanges: null, path: null }), {
    verbosity: 'ERROR',
    write: (line) => errors.push(line),
  }).catch((error: unknown) => {
    throw new Error(errors.join('\n'), { cause: error });
  });
  expect(stats.simulated_ms).toBeGreaterThan(0);
});
