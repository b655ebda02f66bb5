import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { CommandView, FleetMessage } from '../message.js';

/** What is known beside the stream: the checks of the start by instance, and the last commands with their answers. */
export interface ReverseEvidence {
  readonly reports: Readonly<Record<string, PublishedDetails['preflight']>>;
  readonly commands: readonly CommandView[];
}

const notReversible = 'Not started with reversible: source and destination cannot change roles.';

/** Why a reverse would be refused, as far as that is known beforehand; null when it may be accepted. */
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
    return 'The clusters have different numbers of shards, so this migration cannot be reversible.';
  return progress.verification !== null && saysOneWay(reports) ? notReversible : null;
}

/** A start that may be reversed is warned, where it is verified, that its way back is not: without the warning there is no way back. */
function saysOneWay(reports: ReverseEvidence['reports']): boolean {
  const checks = Object.values(reports)
    .filter(({ canStart }) => canStart)
    .flatMap(({ items }) => items.filter(({ check }) => check === 'verification'));
  return checks.length > 0 && checks.every(({ result }) => result === 'passed');
}
