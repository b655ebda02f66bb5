import { blockedBy, type CommitBlocker, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { secondsSilent } from './instance-rows.js';
import type { FleetSnapshot, Members } from './members.js';

/**
 * What keeps a commit of the fleet from being taken: what each instance says of itself, and what only a look at all shows.
 * @returns empty when a commit would be taken; null in states in which none is waited for
 */
export function fleetBlockers(members: Members, snapshot: FleetSnapshot, state: MigrationState): CommitBlocker[] | null {
  if (state !== 'RUNNING' && state !== 'PAUSED') return null;
  const missing = members.missingIds.map((instance) => ({ instance, ...blockedBy('missing', 'it was never heard of; start it') }));
  return [...missing, ...members.seen.flatMap((seen) => blockersOf(seen, snapshot))];
}

/** An instance takes a commit when all are ready as far as it knows, which may be later than this process does; or it has taken it. */
export function takesCommit({ ready, progress, state }: InstanceReport): boolean {
  return ready.canCommit && (progress.canCommit || state === 'COMMITTING');
}

function blockersOf(seen: SeenReport, snapshot: FleetSnapshot): CommitBlocker[] {
  const { report } = seen;
  const instance = report.identity.id;
  const told = (blocker: OwnBlocker): CommitBlocker[] => [{ instance, ...blocker }];
  if (!seen.fresh) {
    const value = secondsSilent(seen, snapshot);
    return told(blockedBy('silent', `it has been silent for ${value} s`, { value }));
  }
  if (takesCommit(report)) return [];
  if (report.ready.canCommit) return told(blockedBy('awaitsOthers', 'it has not heard yet that all others are ready'));
  const own = (report.progress.commitBlockers ?? []).filter((blocker) => blocker.instance === instance);
  return own.length > 0 ? own : told(blockedBy('notReady', 'it is not ready'));
}
