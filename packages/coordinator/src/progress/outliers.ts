import type { InstanceReport, Leader } from '@convoy/api/fleet/fleet';

/** Instances that differ from the rest of their fleet in something that all should have alike. */
export interface Outliers {
  readonly ids: readonly string[];
  /** What the rest has; null while nothing is known. */
  readonly usual: string | null;
}

/** What one instance has; null when it is not known, which differs from nothing. */
export type ReadTrait = (report: InstanceReport) => string | null;

/** The software's release. */
export const releaseOf: ReadTrait = ({ identity }) => identity.release;

/** The two configured clusters by their own ids. */
export const clustersOf: ReadTrait = ({ clusterIds }) =>
  clusterIds === null ? null : `${clusterIds.cluster0} ${clusterIds.cluster1}`;

/**
 * Who differs from what most have; where as many have one thing as another, from what the leader has.
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
