import type { Warning } from '@convoy/api/contract/progress';
import { type Waiting, waitingText } from '@convoy/api/contract/waiting';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { FleetSnapshot, Members } from './members.js';

const waitingName = 'waitingForInstances';

/** Maximum warnings shown; the rest is counted. */
const WARNINGS_MAX = 100;

/** Maximum ids in one warning; the rest is counted, and the rows of the instances show all. */
const IDS_NAMED_MAX = 10;

function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, IDS_NAMED_MAX).join(', ');
  return ids.length > IDS_NAMED_MAX ? `${shown} and ${ids.length - IDS_NAMED_MAX} more` : shown;
}

/** The ids in each state, for example `RUNNING: shard0, shard1; IDLE: shard2`. */
function mixedStates(reports: readonly InstanceReport[]): Warning[] {
  const idsByState = new Map<string, string[]>();
  for (const { state, identity } of reports) idsByState.set(state, [...(idsByState.get(state) ?? []), identity.id]);
  if (idsByState.size <= 1) return [];
  const states = [...idsByState].map(([state, ids]) => `${state}: ${listed(ids)}`).join('; ');
  return [{ name: 'mixedStates', description: `The instances are in different states (${states}).` }];
}

/** A warning about some instances; none for an empty list. */
function about(name: string, ids: readonly string[], description: (ids: string) => string): Warning[] {
  return ids.length === 0 ? [] : [{ name, description: description(listed(ids)) }];
}

function ofMembership(members: Members, waitingFor: readonly Waiting[]): Warning[] {
  const silentIds = members.seen.filter(({ fresh }) => !fresh).map(({ report }) => report.identity.id);
  const usual = members.usualRelease ?? 'unknown';
  return [
    ...waitingFor.map((one) => ({ name: waitingName, description: waitingText(one) })),
    ...about(
      waitingName,
      members.missingIds.filter((id) => !waitingFor.some(({ instance }) => instance === id)),
      (ids) => `These instances have never registered: ${ids}. Start them.`,
    ),
    ...about('instancesSilent', silentIds, (ids) => `No heartbeat from ${ids}. Their values are the last known ones.`),
    ...about(
      'instancesUnexpected',
      members.unexpectedIds,
      (ids) => `The source has no shard for these instances: ${ids}. Stop them.`,
    ),
    ...about(
      'releasesDiffer',
      members.otherReleaseIds,
      (ids) => `These instances run another release than ${usual}: ${ids}. Run the same release everywhere.`,
    ),
    ...about(
      'clustersDiffer',
      members.otherClustersIds,
      (ids) =>
        `These instances have other clusters configured than the rest: ${ids}. Configure the same clusters for ` +
        'all.',
    ),
  ];
}

/** Why Redis is unreachable and what to do, as sentences to append; empty while unknown. */
export function causeOf({ whyDisconnected }: Pick<FleetSnapshot, 'whyDisconnected'>): string {
  return whyDisconnected ? ` Cause: ${whyDisconnected}` : '';
}

/** Says that a coordinator has lost Redis, so that it neither hears instances nor reaches them; null otherwise. */
export function unheardWarning(snapshot: Pick<FleetSnapshot, 'isConnected' | 'whyDisconnected'>): Warning | null {
  if (snapshot.isConnected) return null;
  const description = 'Redis is unreachable from this coordinator. All values are the last known ones.';
  return { name: 'redisUnavailable', description: `${description}${causeOf(snapshot)}` };
}

/**
 * Warnings for the operator: about the fleet as a whole first, then the instances' own, without duplicates.
 * @param started the instances that count for the fleet's state
 * @param waitingFor instances for which a command is recorded; their names replace what their peers say about it
 * @param snapshot whether this process receives the fleet's messages, why not, and how they are protected
 */
export function fleetWarnings(
  members: Members,
  started: readonly InstanceReport[],
  waitingFor: readonly Waiting[],
  snapshot: Pick<FleetSnapshot, 'isConnected' | 'whyDisconnected' | 'redisWarnings'>,
): Warning[] {
  const unheard = unheardWarning(snapshot);
  const own = [
    ...(unheard === null ? [] : [unheard]),
    ...(snapshot.redisWarnings ?? []),
    ...mixedStates(started),
    ...ofMembership(members, waitingFor),
  ];
  const reported = members.reports
    .flatMap(({ progress }) => progress.warnings ?? [])
    .filter(({ name }) => waitingFor.length === 0 || name !== waitingName);
  const byText = new Map([...own, ...reported].map((warning) => [`${warning.name}\n${warning.description}`, warning]));
  const all = [...byText.values()];
  if (all.length <= WARNINGS_MAX) return all;
  const more = { name: 'moreWarnings', description: `${all.length - WARNINGS_MAX} further warnings are hidden.` };
  return [...all.slice(0, WARNINGS_MAX), more];
}
