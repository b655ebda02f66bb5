import type { FleetInstance, InstanceProblem } from '@convoy/api/contract/fleet-progress';
import type { SeenReport } from '@convoy/api/fleet/fleet';
import type { FleetSnapshot, Members } from './members.js';

/** Seconds of silence; by the reporter's clock for an instance that this process has not received anything from. */
export function secondsSilent({ report, reportedAt_ms }: SeenReport, { silent_ms, now_ms }: FleetSnapshot): number {
  const heard_ms = silent_ms.get(report.identity.id) ?? Number.POSITIVE_INFINITY;
  const silence_ms = Number.isFinite(heard_ms) ? heard_ms : now_ms - reportedAt_ms;
  return Math.max(0, Math.floor(silence_ms / 1000));
}

function problemsOf(id: string, isSilent: boolean, members: Members): InstanceProblem[] {
  const problems: readonly [InstanceProblem, boolean][] = [
    ['missing', members.missingIds.includes(id)],
    ['silent', isSilent],
    ['unexpected', members.unexpectedIds.includes(id)],
    ['otherRelease', members.otherReleaseIds.includes(id)],
    ['otherClusters', members.otherClustersIds.includes(id)],
  ];
  return problems.filter(([, has]) => has).map(([problem]) => problem);
}

function rowOf(seen: SeenReport, snapshot: FleetSnapshot, members: Members): FleetInstance {
  const { identity, state, ready, failure, rates, progress } = seen.report;
  return {
    id: identity.id,
    syncID: identity.syncID,
    release: identity.release,
    problems: problemsOf(identity.id, !seen.fresh, members),
    reachable: seen.fresh,
    secondsSinceHeartbeat: secondsSilent(seen, snapshot),
    state,
    canCommit: ready.canCommit,
    info: progress.info,
    lagTimeSeconds: progress.lagTimeSeconds,
    totalEventsApplied: progress.totalEventsApplied,
    eventsPerSecond: seen.fresh ? rates.eventsPerSecond : null,
    estimatedCopiedBytes: progress.collectionCopy?.estimatedCopiedBytes ?? null,
    copyBytesPerSecond: seen.fresh ? rates.copyBytesPerSecond : null,
    error: failure?.error ?? null,
    errorDescription: failure?.errorDescription ?? null,
  };
}

/** The row of an instance of which only the id is known. */
function missingRow(id: string, members: Members): FleetInstance {
  return {
    id,
    syncID: null,
    release: null,
    problems: problemsOf(id, false, members),
    reachable: false,
    secondsSinceHeartbeat: null,
    state: null,
    canCommit: false,
    info: null,
    lagTimeSeconds: null,
    totalEventsApplied: null,
    eventsPerSecond: null,
    estimatedCopiedBytes: null,
    copyBytesPerSecond: null,
    error: null,
    errorDescription: null,
  };
}

/**
 * One row per instance that counts, lives or is missing, in the order of ids. One that is gone and that nobody needs,
 * for example after a start with a wrong id, has none.
 */
export function instanceRows(snapshot: FleetSnapshot, members: Members): FleetInstance[] {
  const counted = new Set(members.seen.map(({ report }) => report.identity.id));
  const known = [...snapshot.reports].filter(([id, { fresh }]) => fresh || counted.has(id)).map(([id]) => id);
  return [...known, ...members.missingIds].sort().map((id) => {
    const seen = snapshot.reports.get(id);
    return seen === undefined ? missingRow(id, members) : rowOf(seen, snapshot, members);
  });
}
