import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient, Version } from '../cluster/node-client.js';
import { binaryVersion, howToSetIds, isOlder, releaseText } from '../cluster/topology.js';

/** Oldest source, and so oldest destination: change streams over a whole cluster by time, as Convoy reads them. */
const OLDEST_VERSION: Version = [4, 4, 0];

/** First release with `atClusterTime` outside transactions, which the copy needs. */
export const READS_AT_A_TIME: Version = [5, 0, 0];

/** What a cluster that was restored from files needs to be another one. */
const restoredShards =
  'give it a clusterId of its own, in config.version of its config servers and in the shardIdentity document of ' +
  'admin.system.version on every shard.';

/**
 * Two clusters must be different ones. Files that are restored as another cluster keep the id.
 * @throws ConvoyError `sourceEqualsDestination`
 */
export function refuseSameCluster(source: ClusterClient, destination: ClusterClient): void {
  if (source.clusterId !== destination.clusterId) return;
  const isNamedAlike = source.shardIds.join() === destination.shardIds.join();
  const both = `${source.name} and ${destination.name}`;
  const what = isNamedAlike ? `${both} are the same cluster.` : `${both} have one cluster id, though other names.`;
  const ownId = source.kind === 'sharded' ? restoredShards : `give it an id of its own. ${howToSetIds}`;
  throw new ConvoyError(
    'sourceEqualsDestination',
    `${what} Configure two different ones; or if one was restored from a copy of the other's files, ${ownId}`,
  );
}

/**
 * Checks whether two clusters can be source and destination of a migration.
 * @throws ConvoyError `sourceEqualsDestination`, `unsupportedServerVersion` or `featureNotAvailable`
 */
export function checkClusters(source: ClusterClient, destination: ClusterClient): void {
  refuseSameCluster(source, destination);
  const [from, to] = [binaryVersion(source), binaryVersion(destination)];
  if (isOlder(from, OLDEST_VERSION)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The source ${source.name} is too old: it runs ${releaseText(from)}. Convoy needs ` +
        `${releaseText(OLDEST_VERSION)} or later; upgrade it.`,
    );
  }
  if (isOlder(from, READS_AT_A_TIME)) {
    throw new ConvoyError(
      'featureNotAvailable',
      `The source ${source.name} is too old: it runs ${releaseText(from)}, which has no snapshot reads outside ` +
        `transactions. Upgrade it to ${releaseText(READS_AT_A_TIME)} or later.`,
    );
  }
  if (isOlder(to, from)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The destination ${destination.name} runs ${releaseText(to)}, which is older than the source's ` +
        `${releaseText(from)}. Upgrade it.`,
    );
  }
}
