import { expect, test } from 'vitest';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { needs } from '../../requirements.js';
import { RealClusters } from './real-clusters.js';
import { realHistoryOf } from './real-history.js';
import { runRealHistory } from './run-real-history.js';

/** One with a fleet, one with an instance alone. */
const seeds = [3, 6];

test.for(seeds)(
  'the destination of the random history of seed %i equals its source, with processes and in real time (servers ' +
    'from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async (seed) => {
    using folder = ScratchFolder.create('soak');
    await using clusters = await RealClusters.start(folder);
    await expect(
      runRealHistory(realHistoryOf({ seed, ddlChanges: null, moves: false, path: null }), clusters),
    ).resolves.toBeUndefined();
  },
);
