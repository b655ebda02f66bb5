import type { CommandView, FleetMessage } from '../message.js';

const notReversible = 'Not started with reversible.';

/**
 * Why a reverse would be rejected, as far as known; null when it may be accepted.
 * @param commands the last commands with their replies
 */
export function reverseRefusal(
  { instances, progress }: Pick<FleetMessage, 'instances' | 'progress'>,
  commands: readonly CommandView[],
): string | null {
  const last = commands.filter(({ name }) => name === 'reverse').at(-1);
  if (last !== undefined && Object.values(last.results).some(({ error }) => error === 'notReversible'))
    return notReversible;
  const stats = Object.values(instances).flatMap((instance) => instance.stats ?? []);
  const shards = (of: 'sourceShards' | 'destinationShards'): number => new Set(stats.flatMap((one) => one[of])).size;
  const isWhole = stats.length > 0 && stats.length === Object.keys(instances).length;
  if (isWhole && shards('sourceShards') !== shards('destinationShards'))
    return 'Not possible with different numbers of shards.';
  return progress.options?.['reversible'] === false ? notReversible : null;
}
