import { blockedBy, type CommitBlocker, type OwnBlocker, reportedBlockers } from '@convoy/api/contract/commit-blocker';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { Waiting } from '@convoy/api/contract/waiting';
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

/**
 * Instances that have not taken a command of the whole fleet, as live instances read it in the migration's record, each
 * with the reason that this process sees. Empty when every instance got its own commands, or all have taken them.
 */
export function fleetWaiting(members: Members, snapshot: FleetSnapshot): Waiting[] {
  const living = members.seen.filter(({ fresh }) => fresh).map(({ report }) => report);
  const reported = living.flatMap(({ progress }) => progress.waitingFor ?? []);
  const byKey = new Map(reported.map((one) => [`${one.instance}\n${one.command}`, one]));
  return [...byKey.values()]
    .filter((one) => !hasTaken(one, snapshot))
    .map((one) => ({ ...one, description: reasonOf(one, members, snapshot) }))
    .sort((a, b) => (a.instance < b.instance ? -1 : 1));
}

/** Peers read the record about a second later than the instance that took the start. */
function hasTaken({ instance, command }: Waiting, { reports }: FleetSnapshot): boolean {
  const seen = reports.get(instance);
  return command === 'start' && seen?.fresh === true && seen.report.optionsDigest !== null;
}

function reasonOf({ instance, command }: Waiting, members: Members, snapshot: FleetSnapshot): string {
  const seen = snapshot.reports.get(instance);
  if (seen === undefined) return `it has never registered. Start its process; it then takes the recorded ${command}.`;
  if (!seen.fresh)
    return `no heartbeat for ${secondsSilent(seen, snapshot)} s. Once it runs again, it takes the recorded ${command}.`;
  const { refused, state } = seen.report;
  if (refused !== undefined) return `it refuses (${refused.error}). ${refused.errorDescription} It tries again.`;
  if (members.otherClustersIds.includes(instance))
    return 'it has other clusters configured than the rest. Configure the same cluster0 and cluster1 for all.';
  return `it is ${state} and takes the recorded ${command} shortly.`;
}

/** The instances that count for the fleet's state: all but those whose start is recorded for them. */
export function startedOf({ reports }: Members, waitingFor: readonly Waiting[]): readonly InstanceReport[] {
  const isAwaited = ({ identity }: InstanceReport): boolean =>
    waitingFor.some(({ instance, command }) => command === 'start' && instance === identity.id);
  const started = reports.filter((report) => !isAwaited(report));
  return started.length === 0 ? reports : started;
}
