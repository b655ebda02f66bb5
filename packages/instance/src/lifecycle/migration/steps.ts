import { channel } from 'node:diagnostics_channel';

/** The steps in which the leader begins a migration; those of write blocking are passed without it, too. */
export const beginningSteps = [
  'destinationClosed',
  'balancersRecorded',
  'balancersStopped',
  'fenceMade',
  'startTimeTaken',
  'catalogStored',
  'collectionsMade',
  'syncStarted',
] as const;

/** The steps in which it commits one. */
export const commitSteps = [
  'commitStarted',
  'sourceClosed',
  'transactionsEnded',
  'commitTimeTaken',
  'roundDrained',
  'definitionsCompared',
  'commitSealed',
  'documentsVerified',
  'attributesRestored',
  'catalogsEqual',
  'verifiedAgain',
  'sourceLookedAt',
  'openingDecided',
  'openingTimeStored',
  'destinationOpened',
  'writesAllowed',
  'balancersRestored',
  'committed',
] as const;

/** The steps in which it reverses one, until changes are followed in the other direction. */
export const reverseSteps = [
  'reverseStarted',
  'reverseCatalogStored',
  'formerDirectionCleared',
  'clustersSwapped',
  'tasksRestarted',
  'formerSourceClosed',
  'reverseBalancersStopped',
  'reverseFenceMade',
  'attributesDeferred',
  'reverseFollowed',
] as const;

/** All steps of the leader, in the order in which a migration passes them. */
export const leaderSteps = [...beginningSteps, ...commitSteps, ...reverseSteps] as const;

export type LeaderStep = (typeof leaderSteps)[number];

/** Node's diagnostics channel of this name tells what is done, `{step}`, before anything else is begun. */
export const stepChannel = 'convoy:step';

const steps = channel(stepChannel);

/** Tells that a step of this process, as the leader, is done; whoever leads after it need not do it again, and may. */
export function stepDone(step: LeaderStep): void {
  steps.publish({ step });
}
