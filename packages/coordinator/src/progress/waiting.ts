import type { Waiting } from '@convoy/api/contract/waiting';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { secondsSilent } from './instance-rows.js';
import type { FleetSnapshot, Members } from './members.js';

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
