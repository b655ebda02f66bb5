import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { CommandView, FleetMessage } from '../message.js';

/** Data outside the stream: the preflight checks by instance, and the last commands with their replies. */
export interface ReverseEvidence {
  readonly reports: Readonly<Record<string, PublishedDetails['preflight']>>;
  readonly commands: readonly CommandView[];
}

const notReversible = 'Not started with reversible.';

/** Why a reverse would be rejected, as far as known; null when it may be accepted. */
export function reverseRefusal(
  { instances, progress }: Pick<FleetMessage, 'instances' | 'progress'>,
  { reports, commands }: ReverseEvidence,
): string | null {
  const last = commands.filter(({ name }) => name === 'reverse').at(-1);
  if (last !== undefined && Object.values(last.results).some(({ error }) => error === 'notReversible'))
    return notReversible;
  const stats = Object.values(instances).flatMap((instance) => instance.stats ?? []);
  const shards = (of: 'sourceShards' | 'destinationShards'): number => new Set(stats.flatMap((one) => one[of])).size;
  const isWhole = stats.length > 0 && stats.length === Object.keys(instances).length;
  if (isWhole && shards('sourceShards') !== shards('destinationShards'))
    return 'Not possible with different numbers of shards.';
  return progress.verification !== null && saysOneWay(reports) ? notReversible : null;
}

/**
 * A verified reversible start has a warning that its way back is not verified. Without the warning the migration is not
 * reversible.
 */
function saysOneWay(reports: ReverseEvidence['reports']): boolean {
  const checks = Object.values(reports)
    .filter(({ canStart }) => canStart)
    .flatMap(({ items }) => items.filter(({ check }) => check === 'verification'));
  return checks.length > 0 && checks.every(({ result }) => result === 'passed');
}
