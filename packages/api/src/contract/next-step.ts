import type { FleetProgress } from './fleet-progress.js';
import type { MigrationState, Progress } from './progress.js';

/** What a next step depends on, of an instance's progress or a fleet's. */
export type StepProgress = Pick<Progress, 'state' | 'canCommit' | 'canWrite'> &
  Partial<Pick<FleetProgress, 'warnings' | 'metadataRemoved' | 'currentStep'>>;

const stepByState: Readonly<Record<MigrationState, (progress: StepProgress) => string>> = {
  INITIALIZING: () => 'Wait until the state is IDLE.',
  IDLE: ({ warnings }) =>
    `${isWarned(warnings, 'redisUnavailable') ? 'Bring Redis back. Then run' : 'Run'} convoy check, then convoy start.`,
  RUNNING: runningStep,
  PAUSED: () => 'Run convoy resume before the oplog wraps.',
  COMMITTING: () => 'Wait for COMMITTED. Do not write to either cluster yet.',
  COMMITTED: ({ canWrite, metadataRemoved }) =>
    metadataRemoved === true
      ? 'The migration is cleaned up. Stop the instances, or restart them before another migration.'
      : canWrite === true
        ? 'Point the writers at the destination. Once a rollback is ruled out, run convoy cleanup.'
        : 'Wait until canWrite is true.',
  REVERSING: runningStep,
};

/** The operator's next step in a migration that has not failed, in one or two sentences. */
export function nextStep(progress: StepProgress): string {
  return stepByState[progress.state](progress);
}

/** The operator's next step after a failure. */
export const nextStepAfterFailure =
  'Remove the cause, stop all instances, run convoy cleanup, drop the unfinished copy, and start again.';

function runningStep({ canCommit, warnings, currentStep }: StepProgress): string {
  if (isWarned(warnings, 'redisUnavailable')) return 'Bring Redis back: the warning says why it is unreachable.';
  if (currentStep?.name === 'awaitInstances') return 'Check the instances in the present step, and repeat the command.';
  if (isWarned(warnings, 'waitingForInstances')) return 'Start the instances in the warning.';
  if (isWarned(warnings, 'instancesSilent')) return 'Check the instances in the warning.';
  if (isWarned(warnings, 'retrying')) return 'Wait until nothing is repeated: the warning says what fails, and why.';
  return canCommit ? 'Stop the writers of the source, then run convoy commit.' : 'Wait until canCommit is true.';
}

function isWarned(warnings: StepProgress['warnings'], warning: string): boolean {
  return warnings?.some(({ name }) => name === warning) ?? false;
}
