import {
  type History,
  HISTORY_POINTS_MAX,
  type HistoryPoint,
  TIMELINE_ENTRIES_MAX,
  type TimelineEntry,
} from '@convoy/api/contract/history';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { Failure, InstanceReport, Leader, SeenReport } from '@convoy/api/fleet/fleet';

/** One instance at one moment. */
interface InstanceLook {
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
export function lookAtFleet(
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

type Note = (kind: TimelineEntry['kind'], level: TimelineEntry['level'], text: string) => void;

/** The timeline entries for the differences between two looks at a fleet. */
export function whatHappened(before: FleetLook, now: FleetLook, at_ms: number): TimelineEntry[] {
  const happened: TimelineEntry[] = [];
  const note: Note = (kind, level, text) => void happened.push({ at_ms, kind, level, text });
  noteInstances(before, now, note);
  const { leaderId, state, failure } = now;
  if (leaderId !== null && leaderId !== before.leaderId)
    note('leader', 'info', `Instance ${leaderId} leads the fleet.`);
  if (state !== null && state !== before.state) {
    const level = state === 'COMMITTED' ? 'good' : 'info';
    happened.push({ at_ms, kind: 'state', level, text: `The fleet is ${state}.`, state });
  }
  noteCommon(before, now, note);
  for (const [name, description] of now.warnings)
    if (!before.warnings.has(name)) note('warning', 'warning', `Warning ${name}: ${description}`);
  for (const name of before.warnings.keys())
    if (!now.warnings.has(name)) note('warning', 'good', `Warning ${name} is over.`);
  if (failure !== null && before.failure === null)
    note('failure', 'bad', `The migration failed: ${failure.error}. ${failure.errorDescription}`);
  return happened;
}

function noteInstances(before: FleetLook, now: FleetLook, note: Note): void {
  for (const [id, { incarnation, fresh }] of now.instances) {
    const was = before.instances.get(id);
    if (was === undefined) continue;
    if (was.incarnation !== incarnation) note('instance', 'info', `Instance ${id} was restarted.`);
    else if (was.fresh && !fresh) note('instance', 'warning', `Instance ${id} has stopped reporting.`);
    else if (!was.fresh && fresh) note('instance', 'good', `Instance ${id} reports again.`);
  }
}

function noteCommon(before: FleetLook, { state, info, canCommit }: FleetLook, note: Note): void {
  if (info !== null && info !== before.info && info !== 'paused') note('phase', 'info', `Phase: ${info}.`);
  if (canCommit === true && before.canCommit !== true) note('state', 'good', 'A commit will succeed.');
  if (state === 'RUNNING' && canCommit === false && before.canCommit === true)
    note('state', 'warning', 'A commit will not succeed at present.');
}

/** Initial time between two points; it doubles for the first time after a quarter of an hour. */
const firstInterval_ms = 2_000;
/** The first entries show how the migration started and are never dropped. */
const firstEntriesKept = 40;
const textCharactersMax = 1_000;

export function emptyHistory(): History {
  return { interval_ms: firstInterval_ms, points: [], timeline: [], entriesDropped: 0 };
}

/**
 * Adds a point, or only its lag when the last point is nearer than the interval. At the bound the interval doubles and
 * every two points become one.
 */
export function withPoint(history: History, point: HistoryPoint): History {
  const last = history.points.at(-1);
  if (last !== undefined && point.at_ms < last.at_ms + history.interval_ms) return withLag(history, last, point);
  if (history.points.length < HISTORY_POINTS_MAX) return { ...history, points: [...history.points, point] };
  return withPoint({ ...history, interval_ms: history.interval_ms * 2, points: halved(history.points) }, point);
}

/** Raises the lag of the last point to that of `point`. */
function withLag(history: History, last: HistoryPoint, { lagSeconds }: HistoryPoint): History {
  if (lagSeconds === null || (last.lagSeconds !== null && last.lagSeconds >= lagSeconds)) return history;
  return { ...history, points: [...history.points.slice(0, -1), { ...last, lagSeconds }] };
}

/** Keeps the later of two neighbours with the larger lag, so that peaks stay visible. */
function halved(points: readonly HistoryPoint[]): HistoryPoint[] {
  const kept: HistoryPoint[] = [];
  for (let at = 0; at < points.length; at += 2) {
    const [first, second] = [points[at], points[at + 1]];
    const later = second ?? first;
    if (first === undefined || later === undefined) continue;
    kept.push({ ...later, lagSeconds: largest(first.lagSeconds, later.lagSeconds) });
  }
  return kept;
}

function largest(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.max(left, right);
}

/** Adds entries; at the bound the oldest after the first few are dropped. */
export function withEntries(history: History, entries: readonly TimelineEntry[]): History {
  if (entries.length === 0) return history;
  const timeline = [
    ...history.timeline,
    ...entries.map((entry) => ({ ...entry, text: entry.text.slice(0, textCharactersMax) })),
  ];
  const surplus = Math.max(0, timeline.length - TIMELINE_ENTRIES_MAX);
  if (surplus > 0) timeline.splice(firstEntriesKept, surplus);
  return { ...history, timeline, entriesDropped: history.entriesDropped + surplus };
}
