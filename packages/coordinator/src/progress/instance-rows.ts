import type { FleetInstance } from '@convoy/api/contract/fleet-progress';
import type { SeenReport } from '@convoy/api/fleet/fleet';
import type { FleetSnapshot } from './members.js';

/** Seconds of silence; by the reporter's clock for one that was never heard by this process itself. */
function secondsSilent({ report, reportedAt_ms }: SeenReport, { silent_ms, now_ms }: FleetSnapshot): number {
  const heard_ms = silent_ms.get(report.identity.id) ?? Number.POSITIVE_INFINITY;
  const silence_ms = Number.isFinite(heard_ms) ? heard_ms : now_ms - reportedAt_ms;
  return Math.max(0, Math.floor(silence_ms / 1000));
}

function rowOf(seen: SeenReport, snapshot: FleetSnapshot): FleetInstance {
  const { identity, state, ready, failure, rates, progress } = seen.report;
  return {
    id: identity.id,
    syncID: identity.syncID,
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

/** One row for every instance that was ever heard of, those that have gone silent included, in the order of their ids. */
export function instanceRows(snapshot: FleetSnapshot): FleetInstance[] {
  const ids = [...snapshot.reports.keys()].sort();
  return ids.flatMap((id) => {
    const seen = snapshot.reports.get(id);
    return seen === undefined ? [] : [rowOf(seen, snapshot)];
  });
}
