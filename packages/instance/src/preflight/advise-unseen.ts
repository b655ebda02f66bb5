import type { ClusterClient } from '../cluster/node-client.js';
import { binaryVersion } from '../cluster/topology.js';
import { recordedSeries, unseenProbes } from '../probes/recorded-releases.js';
import { type Advice, unchecked } from './examination.js';

/** Names the probes of releases that were never recorded: Convoy knows these from documentation only. */
export function adviseUnseen(source: ClusterClient, destination: ClusterClient): Advice {
  const unseen = [source, destination].map((cluster) => ({
    cluster,
    probes: unseenProbes(binaryVersion(cluster), cluster.kind),
  }));
  const named = unseen.filter(({ probes }) => probes.length > 0);
  if (named.length === 0) return `Servers of ${recordedSeries.join(', ')} were recorded.`;
  const clusters = named.map(({ cluster }) => `${cluster.name} (${binaryVersion(cluster).join('.')})`).join(' and ');
  const probes = [...new Set(named.flatMap((one) => one.probes))];
  return unchecked(
    `Servers of the release of ${clusters} were never recorded. Convoy knows them from documentation only. Try ` +
      `these on a staging cluster of the same release with convoy probe: ${probes.join(', ')}.`,
  );
}
