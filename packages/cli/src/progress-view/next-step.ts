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
      ? 'point the writers at the destination; when it is certain that nothing goes back, convoy cleanup'
      : 'wait until canWrite is true',
  REVERSING: (progress) => runningStep(progress),
};

/** What an operator does next, in one line. */
export function nextStep(progress: ShownProgress): string {
  return `Next: ${stepByState[progress.state](progress)}`;
}

function runningStep({ canCommit, warnings }: ShownProgress): string {
  const isWarnedOf = (warning: string): boolean => warnings?.some(({ name }) => name === warning) ?? false;
  if (isWarnedOf('waitingForInstances')) return 'start the instances that the warning names';
  if (isWarnedOf('instancesSilent')) return 'look after the instances that the warning names';
  return canCommit
    ? 'stop the writers of the source, then convoy commit'
    : 'wait until a commit is possible (canCommit)';
}
