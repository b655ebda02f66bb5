import { expect, test } from 'vitest';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { needs } from '../../requirements.js';
import { RealClusters } from './real-clusters.js';
import { realHistoryOf } from './real-history.js';
import { runRealHistory } from './run-real-history.js';

/** One with a fleet, one with an instance alone. */
const seeds = [3, 6];
/** A fleet that migrates into a replica set. */
const toReplicaSet = [5];
/** Has time series, on servers that show changes of them. */
const withSeries = [2];

test.for([...seeds, ...toReplicaSet, ...withSeries])(
  'the destination of the random history of seed %i equals its source, with processes and in real time (servers ' +
    'from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async (seed) => {
    using folder = ScratchFolder.create('soak');
    const kind = {
      ddlChanges: null,
      moves: false,
      toReplicaSet: toReplicaSet.includes(seed),
      timeSeries: withSeries.includes(seed),
    };
    await using clusters = await RealClusters.start(folder, kind);
    const history = realHistoryOf({ ...kind, seed, path: null }, clusters.takesSeries);
    await expect(runRealHistory(history, clusters)).resolves.toBe(0);
  },
);

/** Of a fleet, with sets of three members, whose primaries step down and come back as others. */
const ofThree = 8;

test(
  `the destination of the random history of seed ${ofThree} equals its source, with three members in every set`,
  needs({ version: [5, 0], real: true, inFull: true }),
  async () => {
    using folder = ScratchFolder.create('soak');
    const kind = { ddlChanges: null, moves: false, toReplicaSet: false, timeSeries: false };
    await using clusters = await RealClusters.start(folder, kind, 3);
    const history = realHistoryOf({ ...kind, seed: ofThree, path: null }, clusters.takesSeries);
    await expect(runRealHistory(history, clusters)).resolves.toBe(0);
  },
);
