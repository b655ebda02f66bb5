import { channel } from 'node:diagnostics_channel';
import type { commitStepNames } from '@convoy/api/contract/current-step';
import type { MigrationPhase } from '../../store/migration-record.js';

type CommitStepName = (typeof commitStepNames)[number];

/**
 * The steps in which the leader starts a migration. Without write blocking it passes those of blocking, too. It makes
 * the fence beside the three steps that follow, and stores the catalog while it makes the collections.
 */
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

/**
 * A commit, in order: what users see (`currentStep`), the phase in the migration's record, and the steps that the
 * leader has done at the end of it. Without write blocking it passes those of blocking, too. `stopWriters` is shown
 * in `syncing` too, once all instances have the command: while the leader builds deferred indexes.
 */
export const commitTable = [
  { shown: 'awaitInstances', phase: 'syncing', steps: [] },
  { shown: 'stopWriters', phase: 'committing', steps: ['commitStarted', 'sourceBlocked', 'transactionsEnded'] },
  {
    shown: 'applyLastChanges',
    phase: 'committing',
    steps: ['commitTimeTaken', 'roundDrained', 'definitionsCompared', 'commitSealed'],
  },
  { shown: 'verify', phase: 'committing', steps: ['documentsVerified'] },
  { shown: 'restoreIndexes', phase: 'committing', steps: ['attributesRestored', 'catalogsEqual'] },
  { shown: 'verifyAgain', phase: 'committing', steps: ['verifiedAgain', 'carryPlanned', 'accessCarried'] },
  { shown: 'checkSource', phase: 'committing', steps: ['lateWritesRefused', 'openingDecided'] },
  {
    shown: 'openDestination',
    phase: 'opening',
    steps: ['openingTimeStored', 'settingsCarried', 'destinationOpened', 'writesAllowed'],
  },
  { shown: 'startBalancers', phase: 'opening', steps: ['balancersRestored', 'committed'] },
] as const satisfies readonly { shown: CommitStepName; phase: MigrationPhase; steps: readonly string[] }[];

type CommitStep = (typeof commitTable)[number]['steps'][number];

/** The steps in which the leader commits a migration. */
export const commitSteps: readonly CommitStep[] = commitTable.flatMap(({ steps }): readonly CommitStep[] => steps);

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

export type LeaderStep = (typeof beginningSteps | typeof indexSteps | typeof reverseSteps)[number] | CommitStep;

/** All steps of the leader, in order. */
export const leaderSteps: readonly LeaderStep[] = [...beginningSteps, ...indexSteps, ...commitSteps, ...reverseSteps];

/** Node's diagnostics channel of this name publishes `{step}` before the leader begins what follows it. */
export const stepChannel = 'convoy:step';

const steps = channel(stepChannel);

/** Publishes that this process, as the leader, has done a step. A later leader may repeat the step but need not. */
export function stepDone(step: LeaderStep): void {
  steps.publish({ step });
}
