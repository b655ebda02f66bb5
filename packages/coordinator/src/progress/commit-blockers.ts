import { blockedBy, reportedBlockers, type CommitBlocker, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { secondsSilent } from './instance-rows.js';
import type { FleetSnapshot, Members } from './members.js';

/** What keeps a commit of the fleet from being taken: what each instance says of itself, and what only a look at all shows. */
export function fleetBlockers(members: Members, snapshot: FleetSnapshot): CommitBlocker[] {
  const missing = members.missingIds.map((instance) => ({
    instance,
    ...blockedBy('missing', 'it was never heard of; start it'),
  }));
  return [...missing, ...members.seen.flatMap((seen) => blockersOf(seen, snapshot))];
}

function blockersOf(seen: SeenReport, snapshot: FleetSnapshot): CommitBlocker[] {
  const { identity, ready, progress } = seen.report;
  const reported = (blocker: OwnBlocker): CommitBlocker[] => [{ instance: identity.id, ...blocker }];
  if (!seen.fresh) {
    const value = secondsSilent(seen, snapshot);
    return reported(blockedBy('silent', `it has been silent for ${value} s`, { value }));
  }
  if (takesCommit(seen.report)) return [];
  if (ready.canCommit) return reported(blockedBy('awaitsOthers', 'it has not heard yet that all others are ready'));
  return reportedBlockers(identity.id, progress.commitBlockers, blockedBy('notReady', 'it is not ready'));
}

/** An instance takes a commit when all are ready as far as it knows, which may be later than this process does; or it has taken it. */
function takesCommit({ ready, progress, state }: InstanceReport): boolean {
  return ready.canCommit && (progress.canCommit || state === 'COMMITTING');
}
