import type { Warning } from '@convoy/api/contract/progress';
import type { Members } from './members.js';

/** Warnings shown at most; the rest is counted. */
const WARNINGS_MAX = 100;

/** The ids of each state, for example `RUNNING: shard0, shard1; IDLE: shard2`. */
function mixedStates({ reports }: Members): Warning[] {
  const idsByState = new Map<string, string[]>();
  for (const { state, identity } of reports) idsByState.set(state, [...(idsByState.get(state) ?? []), identity.id]);
  if (idsByState.size <= 1) return [];
  const listed = [...idsByState].map(([state, ids]) => `${state}: ${ids.join(', ')}`).join('; ');
  return [{ name: 'mixedStates', description: `The instances are in different states (${listed}).` }];
}

/** A warning about some instances; none when there are none. */
function about(name: string, ids: readonly string[], description: (listed: string) => string): Warning[] {
  return ids.length === 0 ? [] : [{ name, description: description(ids.join(', ')) }];
}

function ofMembership(members: Members): Warning[] {
  const silentIds = members.seen.filter(({ fresh }) => !fresh).map(({ report }) => report.identity.id);
  const usual = members.usualRelease ?? 'unknown';
  return [
    ...about('waitingForInstances', members.missingIds, (ids) => `Instances that were never seen: ${ids}; start them.`),
    ...about(
      'instancesSilent',
      silentIds,
      (ids) => `Instances without a heartbeat: ${ids}; their figures are the last known ones.`,
    ),
    ...about(
      'instancesUnexpected',
      members.unexpectedIds,
      (ids) => `Instances that the source has no shard for: ${ids}; stop them.`,
    ),
    ...about(
      'releasesDiffer',
      members.otherReleaseIds,
      (ids) => `Instances of another release than ${usual}: ${ids}; give all the same.`,
    ),
    ...about(
      'clustersDiffer',
      members.otherClustersIds,
      (ids) => `Instances that are configured with other clusters than the rest: ${ids}; give all the same.`,
    ),
  ];
}

const unheard: Warning = {
  name: 'redisUnavailable',
  description: 'This process does not hear the fleet, for Redis cannot be used; all figures are the last known ones.',
};

/**
 * What an operator should know: of the fleet as a whole first, then what the instances say, each thing once.
 * @param isConnected whether this process hears the fleet
 */
export function fleetWarnings(members: Members, isConnected: boolean): Warning[] {
  const own = [...(isConnected ? [] : [unheard]), ...mixedStates(members), ...ofMembership(members)];
  const reported = members.reports.flatMap(({ progress }) => progress.warnings ?? []);
  const byText = new Map([...own, ...reported].map((warning) => [`${warning.name}\n${warning.description}`, warning]));
  const all = [...byText.values()];
  if (all.length <= WARNINGS_MAX) return all;
  const more = { name: 'moreWarnings', description: `${all.length - WARNINGS_MAX} further warnings are not shown.` };
  return [...all.slice(0, WARNINGS_MAX), more];
}
