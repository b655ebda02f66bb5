import { blockedBy, reportedBlockers, type CommitBlocker, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { secondsSilent } from './instance-rows.js';
import type { FleetSnapshot, Members } from './members.js';

/** Reasons that block a commit of the fleet: each instance's own, and those visible only across the fleet. */
export function fleetBlockers(members: Members, snapshot: FleetSnapshot): CommitBlocker[] {
  const missing = members.missingIds.map((instance) => ({
    instance,
    ...blockedBy('missing', 'it has never registered; start it'),
  }));
  return [...missing, ...members.seen.flatMap((seen) => blockersOf(seen, snapshot))];
}

function blockersOf(seen: SeenReport, snapshot: FleetSnapshot): CommitBlocker[] {
  const { identity, ready, progress, state } = seen.report;
  const reported = (blocker: OwnBlocker): CommitBlocker[] => [{ instance: identity.id, ...blocker }];
  if (!seen.fresh) {
    const value = secondsSilent(seen, snapshot);
    return reported(blockedBy('silent', `no heartbeat for ${value} s`, { value }));
  }
  if (takesCommit(seen.report)) return [];
  if (state !== 'RUNNING') return reportedBlockers(identity.id, progress.commitBlockers, notSyncing(state));
  if (ready.canCommit) return reported(blockedBy('awaitsOthers', 'it does not know yet that all others are ready'));
  return reportedBlockers(identity.id, progress.commitBlockers, blockedBy('notReady', 'it is not ready'));
}

/**
 * An instance accepts a commit when it knows that all are ready, which may be later than this process knows; or it has
 * already accepted it.
 */
function takesCommit({ ready, progress, state }: InstanceReport): boolean {
  return ready.canCommit && ((state === 'RUNNING' && progress.canCommit) || state === 'COMMITTING');
}

function notSyncing(state: MigrationState): OwnBlocker {
  if (state === 'INITIALIZING') return blockedBy('notStarted', 'its process is still starting');
  if (state === 'IDLE') return blockedBy('notStarted', 'it has not taken the start');
  return blockedBy('notRunning', `it is ${state}`);
}
