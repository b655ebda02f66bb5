import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isOlder, readFeatureVersion, releaseText } from '../../cluster/topology.js';
import { within } from '../../cluster/within.js';
import type { Runtime } from '../migration/runtime.js';

/** Time for the clusters to answer; a commit does not wait longer. */
const answer_ms = 5_000;

/**
 * Refuses a commit when the destination's feature compatibility version was lowered under this process, which sends
 * commands of the version before. Refuses it, too, when the source was upgraded beyond the destination meanwhile: users
 * may use features that the destination lacks. A reverse may go back to any release.
 * @throws ConvoyError `unsupportedServerVersion`
 */
export async function refuseUpgradedSource(
  { clock }: Pick<Runtime, 'clock'>,
  { source, destination, home }: Record<'source' | 'destination' | 'home', ClusterClient>,
  signal: AbortSignal,
): Promise<void> {
  const ask = (each: AbortSignal) =>
    Promise.all([source, destination].map(({ router }) => readFeatureVersion(router, { signal: each })));
  const [from, to] = await within(answer_ms, clock, ask, signal).catch(() => {
    signal.throwIfAborted();
    return [];
  });
  if (to && isOlder(to.version, destination.version)) {
    throw new ConvoyError(
      'unsupportedServerVersion',
      `The featureCompatibilityVersion of ${destination.name} was lowered to ${releaseText(to.version)} ` +
        'during the migration; raise it again, and send the command again.',
    );
  }
  if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return;
  const [above, below] = [releaseText(from.version), releaseText(to.version)];
  throw new ConvoyError(
    'unsupportedServerVersion',
    `The source's featureCompatibilityVersion ${above} is now above the destination's ${below}; ` +
      'raise it there, and send the command again.',
  );
}
