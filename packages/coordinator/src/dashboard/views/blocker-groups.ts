import type { CommitBlocker } from '@convoy/api/contract/commit-blocker';
import { countText } from './quantity.js';

/** Instances that block a commit for one reason. */
export interface BlockerGroup {
  readonly instances: readonly string[];
  /** The reason as text; where it differs, that of the instance whose value is highest. */
  readonly description: string;
}

/** What needs its operator; all other blockers end by themselves after the copy, which is shown anyway. */
const needsOperator: ReadonlySet<string> = new Set([
  'notRunning',
  'silent',
  'missing',
  'mismatches',
  'definitions',
  'featureVersion',
]);
const namedMax = 4;

/** The blockers to show: during the copy only those that do not end by themselves. */
export function shownBlockers(blockers: readonly CommitBlocker[] | null): readonly CommitBlocker[] {
  const copies = blockers?.some(({ reason }) => reason === 'copying' || reason === 'notStarted') ?? false;
  return (blockers ?? []).filter(({ reason }) => !copies || needsOperator.has(reason));
}

/** The same with one entry per reason. */
export function blockerGroups(blockers: readonly CommitBlocker[] | null): BlockerGroup[] {
  const byReason = new Map<string, CommitBlocker[]>();
  for (const blocker of shownBlockers(blockers))
    byReason.set(blocker.reason, [...(byReason.get(blocker.reason) ?? []), blocker]);
  return [...byReason.values()].map((group) => ({
    instances: group.map(({ instance }) => instance),
    description: descriptionOf(group),
  }));
}

function descriptionOf(group: readonly CommitBlocker[]): string {
  const [worst] = [...group].sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  if (worst === undefined) return '';
  const isSame = group.every(({ description }) => description === worst.description);
  return isSame ? worst.description : `${worst.instance}: ${worst.description}`;
}

/** Names in a sentence: `a, b and c`, or the first ones `and 12 others`. */
export function namesText(names: readonly string[]): string {
  const shown = names.length <= namedMax ? names.slice(0, -1) : names.slice(0, namedMax - 1);
  const last = names.length <= namedMax ? names.at(-1) : `${countText(names.length - shown.length)} others`;
  return shown.length === 0 ? (last ?? '') : `${shown.join(', ')} and ${last}`;
}
