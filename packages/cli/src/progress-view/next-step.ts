import type { MigrationState } from '@convoy/api/contract/progress';
import type { ShownProgress } from './progress-lines.js';

const stepByState: Readonly<Record<MigrationState, (progress: ShownProgress) => string>> = {
  INITIALIZING: () => 'wait until the state is IDLE',
  IDLE: () => 'convoy check, then convoy start',
  RUNNING: (progress) => runningStep(progress),
  PAUSED: () => 'convoy resume',
  COMMITTING: () => 'wait for COMMITTED; do not write to either cluster yet',
  COMMITTED: ({ canWrite }) =>
    canWrite === true
      ? 'point the writers at the destination; once a rollback is ruled out, convoy cleanup'
      : 'wait until canWrite is true',
  REVERSING: (progress) => runningStep(progress),
};

/** The operator's next step, in one line. */
export function nextStep(progress: ShownProgress): string {
  return `Next: ${stepByState[progress.state](progress)}`;
}

function runningStep({ canCommit, warnings }: ShownProgress): string {
  const isWarnedOf = (warning: string): boolean => warnings?.some(({ name }) => name === warning) ?? false;
  if (isWarnedOf('waitingForInstances')) return 'start the instances in the warning';
  if (isWarnedOf('instancesSilent')) return 'check the instances in the warning';
  return canCommit
    ? 'stop the writers of the source, then convoy commit'
    : 'wait until a commit is possible (canCommit)';
}
