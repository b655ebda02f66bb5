import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isOlder, readFeatureVersion, releaseText } from '../../cluster/topology.js';
import { within } from '../../cluster/within.js';
import type { Runtime } from '../migration/runtime.js';

/** The clusters tell within this time, or are not asked: a commit does not wait for it. */
const answer_ms = 5_000;

/**
 * Refuses to commit to a destination whose feature compatibility version was lowered under this process: what a commit asks of it
 * goes by the version before. Refuses one, too, that the source was upgraded beyond during the migration: its users may have begun
 * to use what the destination does not know. A reverse goes back to where the migration came from, of whatever release.
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
      `The featureCompatibilityVersion of ${destination.name} was lowered to ${releaseText(to.version)} during the migration; raise it again, and send the command again.`,
    );
  }
  if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return;
  const [above, below] = [releaseText(from.version), releaseText(to.version)];
  throw new ConvoyError(
    'unsupportedServerVersion',
    `The source was upgraded to featureCompatibilityVersion ${above} since the start, above the destination's ${below}; raise it there, and send the command again.`,
  );
}
