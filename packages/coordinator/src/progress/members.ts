import type { InstanceReport, Leader, SeenReport } from '@convoy/api/fleet/fleet';
import { clustersOf, outliers, releaseOf } from './outliers.js';

/** What is known of a fleet at one moment. */
export interface FleetSnapshot {
  readonly reports: ReadonlyMap<string, SeenReport>;
  readonly leader: Leader | null;
  /** Milliseconds since each instance was heard last, by the clock of this process; infinite when it has left. */
  readonly silent_ms: ReadonlyMap<string, number>;
  /** Milliseconds since 1970. */
  readonly now_ms: number;
  /** Whether this process hears the fleet at present. */
  readonly isConnected: boolean;
}

/** The instances whose figures make up the fleet's. */
export interface Members {
  /** In the order of their ids. */
  readonly seen: readonly SeenReport[];
  readonly reports: readonly InstanceReport[];
  /** Ids of those that may be sent a command: as `seen`, but nobody when all have left. */
  readonly registeredIds: readonly string[];
  /** Ids that the source asks for; empty until a migration was started. */
  readonly expectedIds: readonly string[];
  /** Expected ids of which nothing was ever heard. */
  readonly missingIds: readonly string[];
  /** Ids of those that live and that the source does not ask for: neither figures nor commands are theirs. */
  readonly unexpectedIds: readonly string[];
  /** Ids of living ones that run another release than the rest, or are configured with other clusters. */
  readonly otherReleaseIds: readonly string[];
  readonly otherClustersIds: readonly string[];
  /** The release that most have. */
  readonly usualRelease: string | null;
  /** The leader's report, when there is one. */
  readonly leading: InstanceReport | null;
}

/** The ids that the source asks for, by those who live; by the last known words when nobody does. */
export function expectedIdsOf(reports: ReadonlyMap<string, SeenReport>): string[] {
  const all = [...reports.values()];
  const living = all.filter(({ fresh }) => fresh);
  const reported = (living.length > 0 ? living : all).flatMap(({ report }) => report.expectedIds);
  return [...new Set(reported)].sort();
}

/** Before the start nobody is expected, and an instance that has been silent for longer has been taken away. */
const SILENCE_COUNTED_MS = 600_000;

/**
 * Who counts: once a migration was started, everybody who is expected; before that everybody who lives, or has fallen
 * silent lately without leaving. When that is nobody, the last known figures are all there is.
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
