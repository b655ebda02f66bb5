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

function absent({ seen, missingIds }: Members): Warning[] {
  const silent = seen.filter(({ fresh }) => !fresh).map(({ report }) => report.identity.id);
  const warnings: Warning[] = [];
  if (missingIds.length > 0) {
    warnings.push({ name: 'waitingForInstances', description: `Instances that were never seen: ${missingIds.join(', ')}; start them.` });
  }
  if (silent.length > 0) {
    const description = `Instances without a heartbeat: ${silent.join(', ')}; their figures are the last known ones.`;
    warnings.push({ name: 'instancesSilent', description });
  }
  return warnings;
}

function differentClusters({ seen }: Members): Warning[] {
  const digests = new Set(seen.filter(({ fresh }) => fresh).map(({ report }) => report.identity.clustersDigest));
  if (digests.size <= 1) return [];
  return [{ name: 'clustersDiffer', description: 'The instances are configured with different clusters; give all of them the same.' }];
}

/** What an operator should know: of the fleet as a whole first, then what the instances say, each thing once. */
export function fleetWarnings(members: Members): Warning[] {
  const own = [...mixedStates(members), ...absent(members), ...differentClusters(members)];
  const told = members.reports.flatMap(({ progress }) => progress.warnings ?? []);
  const byText = new Map([...own, ...told].map((warning) => [`${warning.name}\n${warning.description}`, warning]));
  const all = [...byText.values()];
  if (all.length <= WARNINGS_MAX) return all;
  const more = { name: 'moreWarnings', description: `${all.length - WARNINGS_MAX} further warnings are not shown.` };
  return [...all.slice(0, WARNINGS_MAX), more];
}
