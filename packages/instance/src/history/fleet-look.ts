import type { HistoryPoint } from '@convoy/api/contract/history';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { Failure, Leader, SeenReport } from '@convoy/api/fleet/fleet';

/** One instance as it is seen at one moment. */
export interface InstanceLook {
  incarnation: string;
  fresh: boolean;
}

/** A fleet at one moment, as far as its history is concerned. Of several instances only what all have alike counts. */
export interface FleetLook {
  instances: ReadonlyMap<string, InstanceLook>;
  /** Null while the instances differ. */
  state: MigrationState | null;
  info: string | null;
  canCommit: boolean | null;
  leaderId: string | null;
  failure: Failure | null;
  /** Descriptions by name. */
  warnings: ReadonlyMap<string, string>;
}

/**
 * Looks at the reports of a fleet.
 * @param expectedIds those whose reports make up the whole; while one of them is unknown nothing is common
 */
export function lookAt(
  reports: ReadonlyMap<string, SeenReport>,
  expectedIds: readonly string[],
  leader: Leader | null,
): FleetLook {
  const seen = expectedIds.flatMap((id) => reports.get(id) ?? []);
  const complete = seen.length === expectedIds.length && seen.length > 0;
  const reported = seen.map(({ report }) => report);
  return {
    instances: new Map(
      seen.map(({ report, fresh }) => [report.identity.id, { incarnation: report.identity.incarnation, fresh }]),
    ),
    state: complete ? common(reported.map(({ state }) => state)) : null,
    info: complete ? common(reported.map(({ progress }) => progress.info)) : null,
    canCommit: complete ? common(reported.map(({ ready, state }) => ready.canCommit && state === 'RUNNING')) : null,
    leaderId: leader?.id ?? null,
    failure: reported.find(({ failure }) => failure !== null)?.failure ?? null,
    warnings: new Map(
      reported.flatMap(({ progress }) => (progress.warnings ?? []).map(({ name, description }) => [name, description])),
    ),
  };
}

function common<Value>(values: readonly Value[]): Value | null {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** The figures of a fleet at one moment; what an instance has not told makes the sum unknown. */
export function pointOf(
  reports: ReadonlyMap<string, SeenReport>,
  expectedIds: readonly string[],
  at_ms: number,
): HistoryPoint {
  const reported = expectedIds.map((id) => reports.get(id)?.report);
  const sum = (stat: (report: SeenReport['report']) => number | null | undefined): number | null => {
    const stats = reported.map((report) => (report === undefined ? undefined : stat(report)));
    return stats.every((one) => typeof one === 'number') ? stats.reduce<number>((total, one) => total + one, 0) : null;
  };
  const totals = reported.flatMap((report) => report?.progress.collectionCopy?.estimatedTotalBytes ?? []);
  const lags = reported.flatMap((report) => report?.progress.lagTimeSeconds ?? []);
  return {
    at_ms,
    copiedBytes: sum(({ progress }) => progress.collectionCopy?.estimatedCopiedBytes),
    // The total is global already: every instance tells the same one.
    totalBytes: totals.length === 0 ? null : Math.max(...totals),
    copiedDocuments: sum(({ stats }) => stats?.copiedDocuments),
    eventsApplied: sum(({ progress }) => progress.totalEventsApplied),
    lagSeconds: lags.length === 0 ? null : Math.max(...lags),
  };
}
