import { expect, test } from 'vitest';
import { openClusterStage, openReplicaSetStage } from '../../../simulator/test/conformance/cluster-stage.js';
import { isStep, parseCorpus } from '../../../simulator/test/conformance/corpus-file.js';
import { isFullRun, testSeed } from '../../../../test/seed.js';
import { Replay } from '../../../simulator/test/conformance/replay.js';
import { allProbes } from '../../src/all-probes.js';
import { Recording } from '../../src/framework/recording.js';
import { runProbes } from '../../src/framework/run-probes.js';
import { startProbed } from './probed-cluster.js';

/**
 * What no replay can repeat: stream batches, which end at any point; times that the server inserts; the name of a set;
 * hosts, which are left out.
 */
const ownOfARun = ['getMore', 'find', 'hello', 'listShards', 'replSetGetConfig'];

/** A usual run records an eighth of the probes, another one by its seed; a full run all. */
const parts = isFullRun ? 1 : 8;
const probes = allProbes.filter((_, index) => index % parts === testSeed % parts);

const stages = [
  { topology: 'sharded' as const, open: openClusterStage },
  { topology: 'replicaSet' as const, open: openReplicaSetStage },
];

test.each(stages)(
  'replies of simulated servers to probes are repeated when they are replayed as a corpus: $topology',
  async ({ topology, open }) => {
    await using probed = await startProbed({ topology, release: '5.0' });
    const recording = new Recording(probed.reached);
    await runProbes({
      reached: probed.reached,
      probes,
      record: recording.add,
      onBegin: recording.begin,
      signal: new AbortController().signal,
    });
    const lines = parseCorpus('probes', recording.text());
    expect(lines.filter(isStep).length).toBeGreaterThan(probes.length);
    if (probed.backend !== 'simulator') return;
    const stage = await open();
    try {
      const played = await new Replay(stage).playLines(lines);
      const different = played
        .filter(({ differences }) => differences.length > 0)
        .map(({ step, differences }) => ({ command: step.command, paths: differences.map(({ path }) => path) }));
      expect(different.filter(({ command }) => !ownOfARun.includes(Object.keys(command as object)[0] ?? ''))).toEqual(
        [],
      );
      expect(different.length).toBeLessThan(played.length / 20);
    } finally {
      await stage.close();
    }
  },
);
