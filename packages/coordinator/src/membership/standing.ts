import type { InstanceReport } from '@convoy/api/fleet/fleet';

/**
 * What peers decide by, as a text to compare: all of a report but its counters, rates and times. A change of it makes
 * every peer read the report; of other changes only the leader and coordinators learn at once.
 */
export function standingOf(report: InstanceReport): string {
  const { identity, state, failure, ready, expectedIds, clusterIds, optionsDigest, step, refused, progress } = report;
  const { info, canCommit, canWrite, warnings, commitBlockers } = progress;
  return JSON.stringify([
    identity.incarnation,
    state,
    failure,
    ready,
    expectedIds,
    clusterIds,
    optionsDigest,
    step,
    refused,
    [info, canCommit, canWrite],
    (warnings ?? []).map(({ name }) => name),
    (commitBlockers ?? []).map(({ instance, reason }) => [instance, reason]),
  ]);
}
