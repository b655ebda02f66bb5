import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient, Version } from '../cluster/node-client.js';
import { binaryVersion, isOlder, releaseText } from '../cluster/topology.js';

/** Oldest source, and so oldest destination: change streams over a whole cluster by time, as Convoy reads them. */
const OLDEST_VERSION: Version = [4, 4, 0];

/** First release with `atClusterTime` outside transactions, which the copy needs. */
export const READS_AT_A_TIME: Version = [5, 0, 0];

/**
 * Checks whether two clusters can be source and destination of a migration.
 * @throws ConvoyError `sourceEqualsDestination`, `unsupportedServerVersion` or `featureNotAvailable`
 */
export function checkClusters(source: ClusterClient, destination: ClusterClient): void {
  if (source.clusterId === destination.clusterId) {
    throw new ConvoyError(
      'sourceEqualsDestination',
      `${source.name} and ${destination.name} are the same cluster. Configure two different ones.`,
    );
  }
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
