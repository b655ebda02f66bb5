import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Failure } from '@convoy/api/fleet/fleet';

interface Outcome {
  readonly failure: Failure | null;
  readonly progress: FleetProgress;
}

/** The operator's next step, as one sentence. */
export function nextStepOf({ failure, progress: { state, canCommit, canWrite } }: Outcome): string {
  if (failure !== null) return 'Remove the cause, stop all instances, run convoy cleanup, and start again.';
  switch (state) {
    case 'INITIALIZING':
      return 'Wait until the state is IDLE.';
    case 'IDLE':
      return 'Check both clusters with convoy check, then start the migration.';
    case 'PAUSED':
      return 'Resume before the oplog wraps.';
    case 'COMMITTING':
      return 'Wait for COMMITTED. Do not write to either cluster yet.';
    case 'COMMITTED':
      return canWrite === true
        ? 'Point the writers at the destination. Once a reverse is ruled out, run convoy cleanup.'
        : 'Wait until canWrite is true.';
    case 'RUNNING':
    case 'REVERSING':
      return canCommit ? 'Stop the writers of the source, then commit.' : 'Wait until canCommit is true.';
  }
}
