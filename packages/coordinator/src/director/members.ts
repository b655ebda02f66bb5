import type { Warning } from '@convoy/api/contract/progress';
import type { InstanceReport, Leader, SeenReport } from '@convoy/api/fleet/fleet';

/** A snapshot of a fleet. */
export interface FleetSnapshot {
  readonly reports: ReadonlyMap<string, SeenReport>;
  readonly leader: Leader | null;
  /** Milliseconds since each instance's last sign of life, by this process's clock; infinite when it has left. */
  readonly silent_ms: ReadonlyMap<string, number>;
  /** Milliseconds since 1970. */
  readonly now_ms: number;
  /** Whether this process currently receives the fleet's messages. */
  readonly isConnected: boolean;
  /** Why it does not, and what to do; without addresses. */
  readonly whyDisconnected?: string | null;
  /** What this process knows about the protection of Redis and of the messages in it. */
  readonly redisWarnings?: readonly Warning[];
}

/** The instances that count for the fleet's progress. */
export interface Members {
  /** In the order of their ids. */
  readonly seen: readonly SeenReport[];
  readonly reports: readonly InstanceReport[];
  /** Ids that may receive commands: as `seen`, but none when all have left. */
  readonly registeredIds: readonly string[];
  /** Ids that the source needs; empty before the start. */
  readonly expectedIds: readonly string[];
  /** Expected ids that never registered. */
  readonly missingIds: readonly string[];
  /** Ids of live instances that the source does not need. They neither count nor receive commands. */
  readonly unexpectedIds: readonly string[];
  /** Ids of live instances that run another release or have other clusters configured than the rest. */
  readonly otherReleaseIds: readonly string[];
  readonly otherClustersIds: readonly string[];
  /** The most common release. */
  readonly usualRelease: string | null;
  /** The leader's report, if any. */
  readonly leading: InstanceReport | null;
}

/**
 * The ids that the source needs, according to live instances. According to the last known reports when none is alive,
 * or none of those alive names them after the start: in a large fleet only some do.
 */
export function expectedIdsOf(reports: ReadonlyMap<string, SeenReport>): string[] {
  const all = [...reports.values()];
  const living = all.filter(({ fresh }) => fresh);
  const named = namedBy(living);
  const isBeforeStart = living.length > 0 && living.every(({ report }) => report.optionsDigest === null);
  return named.length > 0 || isBeforeStart ? named : namedBy(all);
}

function namedBy(reports: readonly SeenReport[]): string[] {
  return [...new Set(reports.flatMap(({ report }) => report.expectedIds))].sort();
}

/** Before the start no instance is expected, and one that has been silent for longer was removed. */
const SILENCE_COUNTED_MS = 600_000;

/**
 * The instances that count. After the start: all expected ones. Before: all that are alive, or silent for a short time
 * without leaving. If that is none, the last known reports count.
 */
export function membersOf({ reports, leader, silent_ms }: FleetSnapshot): Members {
  const expectedIds = expectedIdsOf(reports);
  const all = [...reports.entries()].sort(([left], [right]) => (left < right ? -1 : 1));
  const living = all.filter(([, { fresh }]) => fresh);
  const isLately = (id: string): boolean => (silent_ms.get(id) ?? Number.POSITIVE_INFINITY) <= SILENCE_COUNTED_MS;
  const counted = all.filter(([id, { fresh }]) =>
    expectedIds.length > 0 ? expectedIds.includes(id) : fresh || isLately(id),
  );
  const seen = (counted.length > 0 ? counted : all).map(([, one]) => one);
  const livingReports = living.map(([, { report }]) => report);
  const releases = outliers(livingReports, leader, releaseOf);
  return {
    seen,
    reports: seen.map(({ report }) => report),
    registeredIds: counted.map(([id]) => id),
    expectedIds,
    missingIds: expectedIds.filter((id) => !reports.has(id)),
    unexpectedIds: expectedIds.length === 0 ? [] : living.map(([id]) => id).filter((id) => !expectedIds.includes(id)),
    otherReleaseIds: releases.ids,
    otherClustersIds: outliers(livingReports, leader, clustersOf).ids,
    usualRelease: releases.usual,
    leading: leader === null ? null : (reports.get(leader.id)?.report ?? null),
  };
}

/** Instances that differ from the rest of their fleet in something that must be the same. */
interface Outliers {
  readonly ids: readonly string[];
  /** The value of the rest; null while unknown. */
  readonly usual: string | null;
}

/** One instance's value; null when unknown, which differs from nothing. */
type ReadTrait = (report: InstanceReport) => string | null;

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
