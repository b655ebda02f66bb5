import type { Warning } from '@convoy/api/contract/progress';
import { nameSome } from '../../catalog/name-some.js';
import type { Wait } from '../../async/clock.js';

/** Members of each cluster that do not answer, by the cluster's name. */
export type MembersAway = ReadonlyMap<string, readonly string[]>;

/** Whether something is waited for that a cluster has not answered. */
export function awaits(waits: readonly Wait[], cluster: string): boolean {
  return waits.some(({ from }) => from.startsWith(`${cluster} `));
}

/** The warning that names what has no answer: without times, so that it stays the same. */
export function waitWarnings(waits: readonly Wait[], away: MembersAway): Warning[] {
  if (waits.length === 0) return [];
  const froms = [...new Set(waits.map(({ from }) => from))];
  const named = froms.map((from) => {
    const whats = waits.filter((wait) => wait.from === from).map(({ what }) => what);
    return `${from} (${nameSome(whats)})`;
  });
  const silent = [...away.values()].flat();
  const members = silent.length === 0 ? '' : ` Members that do not answer: ${nameSome(silent)}.`;
  return [
    {
      name: 'waitingForAnswer',
      description:
        `Waiting for ${named.join(', ')}.${members} Convoy repeats calls without an answer, and opens streams anew ` +
        'that stand still.',
    },
  ];
}
