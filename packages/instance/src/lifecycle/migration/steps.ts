import { channel } from 'node:diagnostics_channel';

/** The steps in which the leader starts a migration. Without write blocking it passes those of blocking, too. */
export const beginningSteps = [
  'destinationBlocked',
  'balancersRecorded',
  'balancersStopped',
  'fenceMade',
  'startTimeTaken',
  'catalogStored',
  'collectionsMade',
  'syncStarted',
] as const;

/** The steps in which the leader builds indexes after the copy. */
const indexSteps = ['indexBuildsStarted', 'indexesBuilt'] as const;

/** The steps in which the leader commits a migration. */
export const commitSteps = [
  'commitStarted',
  'sourceBlocked',
  'transactionsEnded',
  'commitTimeTaken',
  'roundDrained',
  'definitionsCompared',
  'commitSealed',
  'documentsVerified',
  'attributesRestored',
  'catalogsEqual',
  'verifiedAgain',
  'carryPlanned',
  'accessCarried',
  'sourceLookedAt',
  'openingDecided',
  'openingTimeStored',
  'settingsCarried',
  'destinationOpened',
  'writesAllowed',
  'balancersRestored',
  'committed',
] as const;

/** The steps in which the leader reverses a migration, until the fleet follows changes in the other direction. */
export const reverseSteps = [
  'reverseStarted',
  'reverseCatalogStored',
  'formerDirectionCleared',
  'clustersSwapped',
  'tasksRestarted',
  'formerSourceBlocked',
  'reverseBalancersStopped',
  'reverseFenceMade',
  'attributesDeferred',
  'reverseSyncStarted',
] as const;

/** All steps of the leader, in order. */
export const leaderSteps = [...beginningSteps, ...indexSteps, ...commitSteps, ...reverseSteps] as const;

export type LeaderStep = (typeof leaderSteps)[number];

/** Node's diagnostics channel of this name publishes `{step}` before the leader begins anything else. */
export const stepChannel = 'convoy:step';

const steps = channel(stepChannel);

/** Publishes that this process, as the leader, has done a step. A later leader may repeat the step but need not. */
export function stepDone(step: LeaderStep): void {
  steps.publish({ step });
}
