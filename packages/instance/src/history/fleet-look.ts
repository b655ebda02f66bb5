import type { HistoryPoint } from '@convoy/api/contract/history';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { Failure, InstanceReport, Leader, SeenReport } from '@convoy/api/fleet/fleet';

/** One instance at one moment. */
export interface InstanceLook {
  incarnation: string;
  fresh: boolean;
}

/** The fleet at one moment, as the history needs it. Values common to all instances; null where they differ. */
export interface FleetLook {
  instances: ReadonlyMap<string, InstanceLook>;
  state: MigrationState | null;
  info: string | null;
  canCommit: boolean | null;
  leaderId: string | null;
  failure: Failure | null;
  /** Descriptions by name. */
  warnings: ReadonlyMap<string, string>;
}

/**
 * Summarizes the reports of a fleet.
 * @param expectedIds the instances of the fleet; while one report is missing, common values are null
 */
export function lookAt(
  reports: ReadonlyMap<string, SeenReport>,
  expectedIds: readonly string[],
  leader: Leader | null,
): FleetLook {
  const seen = expectedIds.flatMap((id) => reports.get(id) ?? []);
  const reported = seen.map(({ report }) => report);
  const common = <Value>(of: (report: InstanceReport) => Value): Value | null => {
    const [first, ...others] = reported.map(of);
    return first !== undefined && seen.length === expectedIds.length && others.every((value) => value === first)
      ? first
      : null;
  };
  return {
    instances: new Map(
      seen.map(({ report, fresh }) => [report.identity.id, { incarnation: report.identity.incarnation, fresh }]),
    ),
    state: common(({ state }) => state),
    info: common(({ progress }) => progress.info),
    canCommit: common(({ ready, state }) => ready.canCommit && state === 'RUNNING'),
    leaderId: leader?.id ?? null,
    failure: reported.find(({ failure }) => failure !== null)?.failure ?? null,
    warnings: new Map(
      reported.flatMap(({ progress }) => (progress.warnings ?? []).map(({ name, description }) => [name, description])),
    ),
  };
}

/** The stats of a fleet at one moment. A sum is null while an instance has not reported its part. */
export function pointOf(
  reports: ReadonlyMap<string, SeenReport>,
  expectedIds: readonly string[],
  at_ms: number,
): HistoryPoint {
  const reported = expectedIds.map((id) => reports.get(id)?.report);
  const sum = (stat: (report: InstanceReport) => number | null | undefined) => {
    const stats = reported.map((report) => (report === undefined ? undefined : stat(report)));
    return stats.every((one) => typeof one === 'number') ? stats.reduce<number>((total, one) => total + one, 0) : null;
  };
  const totals = reported.flatMap((report) => report?.progress.collectionCopy?.estimatedTotalBytes ?? []);
  const lags = reported.flatMap((report) => report?.progress.lagTimeSeconds ?? []);
  return {
    at_ms,
    copiedBytes: sum(({ progress }) => progress.collectionCopy?.estimatedCopiedBytes),
    // The total is global: every instance reports the same one.
    totalBytes: totals.length === 0 ? null : Math.max(...totals),
    copiedDocuments: sum(({ stats }) => stats?.copiedDocuments),
    eventsApplied: sum(({ progress }) => progress.totalEventsApplied),
    lagSeconds: lags.length === 0 ? null : Math.max(...lags),
  };
}
