import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Clock, within } from '../../async/clock.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isOlder, readFeatureVersion, releaseText } from '../../cluster/topology.js';

/** Time for the clusters to answer; a commit does not wait longer. */
const answer_ms = 5_000;

type CommittedClusters = Record<'source' | 'destination' | 'home', ClusterClient>;

/**
 * Refuses a commit for which the clusters' feature compatibility versions do not fit now.
 * @throws ConvoyError `unsupportedServerVersion`
 */
export async function refuseUpgradedSource(
  clock: Clock,
  clusters: CommittedClusters,
  signal: AbortSignal,
): Promise<void> {
  const refusal = await versionRefusal(clock, clusters, signal).catch(() => {
    signal.throwIfAborted();
    return null;
  });
  if (refusal !== null)
    throw new ConvoyError('unsupportedServerVersion', `The migration cannot be committed now: ${refusal}.`);
}

/**
 * Why a commit would be refused for the feature compatibility versions, and what to do; null if they fit. The
 * destination's was lowered under this process, which sends commands of the version before; or the source was upgraded
 * beyond the destination: users may use features that the destination lacks. A reverse may go back to any release.
 * @throws what asking the clusters throws; an error when they do not answer in time
 */
export async function versionRefusal(
  clock: Clock,
  { source, destination, home }: CommittedClusters,
  signal: AbortSignal,
): Promise<string | null> {
  const ask = (each: AbortSignal) =>
    Promise.all([source, destination].map(({ router }) => readFeatureVersion(router, { signal: each })));
  const [from, to] = await within(answer_ms, clock, ask, signal);
  if (to && isOlder(to.version, destination.version))
    return (
      `the featureCompatibilityVersion of ${destination.name} was lowered to ${releaseText(to.version)} ` +
      'during the migration: raise it again'
    );
  if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return null;
  const [above, below] = [releaseText(from.version), releaseText(to.version)];
  return `the source's featureCompatibilityVersion ${above} is now above the destination's ${below}: raise it there`;
}
