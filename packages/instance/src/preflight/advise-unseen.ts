import type { ClusterClient } from '../cluster/node-client.js';
import { binaryVersion, isOlder } from '../cluster/topology.js';
import { isRecorded, recordedSeries, unseenProbes } from '../probes/recorded-releases.js';
import { READS_AT_A_TIME } from './check-clusters.js';
import { type Advice, unchecked } from './examination.js';

/** Releases that `docs/guide/support.md` calls real: the probes, and most tests, ran on servers of them. */
const testedText = recordedSeries.join(', ');

/**
 * Says of each cluster's release whether Convoy was tested on real servers of it. Another check refuses what is too
 * old. Of an untested release Convoy knows the documentation and public tests only; probes try the rest.
 */
export function adviseUnseen(source: ClusterClient, destination: ClusterClient): Advice {
  const clusters = [source, destination].map((cluster) => {
    const version = binaryVersion(cluster);
    const tried = isRecorded(version) ? 'tested' : 'untested';
    return { cluster, version, word: isOlder(version, READS_AT_A_TIME) ? 'too old' : tried };
  });
  const words = clusters.map(({ cluster, version, word }) => `${cluster.name} (${version.join('.')}): ${word}`);
  const untested = clusters.filter(({ word }) => word === 'untested');
  if (untested.length === 0) return `${words.join('; ')}.`;
  const probes = [...new Set(untested.flatMap(({ cluster, version }) => unseenProbes(version, cluster.kind)))];
  return unchecked(
    `${words.join('; ')}. Tested: ${testedText}. Run convoy probe on a staging cluster of the same release first ` +
      `(${probes.length} probes).`,
    probes,
  );
}
