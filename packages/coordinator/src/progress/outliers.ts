import type { InstanceReport, Leader } from '@convoy/api/fleet/fleet';

/** Instances that differ from the rest of their fleet in something that must be the same. */
export interface Outliers {
  readonly ids: readonly string[];
  /** The value of the rest; null while unknown. */
  readonly usual: string | null;
}

/** One instance's value; null when unknown, which differs from nothing. */
export type ReadTrait = (report: InstanceReport) => string | null;

/** The software's release. */
export const releaseOf: ReadTrait = ({ identity }) => identity.release;

/** The ids of the two configured clusters. */
export const clustersOf: ReadTrait = ({ clusterIds }) =>
  clusterIds === null ? null : `${clusterIds.cluster0} ${clusterIds.cluster1}`;

/**
 * Instances that differ from the most common value; the leader's value decides ties.
 * @param reports in the order of their ids
 */
export function outliers(reports: readonly InstanceReport[], leader: Leader | null, read: ReadTrait): Outliers {
  const idsByTrait = new Map<string, string[]>();
  for (const report of reports) {
    const trait = read(report);
    if (trait !== null) idsByTrait.set(trait, [...(idsByTrait.get(trait) ?? []), report.identity.id]);
  }
  const isLeaders = (ids: readonly string[]): number => (leader !== null && ids.includes(leader.id) ? 1 : 0);
  const groups = [...idsByTrait].sort(
    ([, left], [, right]) => right.length - left.length || isLeaders(right) - isLeaders(left),
  );
  const [usual, ...odd] = groups;
  return { usual: usual?.[0] ?? null, ids: odd.flatMap(([, ids]) => ids).sort() };
}
