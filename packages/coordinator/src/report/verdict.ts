import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Verdict } from '@convoy/api/contract/migration-report';
import type { Failure } from '@convoy/api/fleet/fleet';
import { countText } from '../dashboard/views/quantity.js';

interface Outcome {
  readonly failure: Failure | null;
  readonly progress: FleetProgress;
}

/** Result of comparing both clusters, as one sentence. */
export function verdictOf({ failure, progress }: Outcome): Verdict {
  if (failure?.error === 'verificationFailed') return { kind: 'differs', text: failure.errorDescription };
  if (failure !== null) return { kind: 'failed', text: `${failure.error}: ${failure.errorDescription}` };
  const { state, verification } = progress;
  if (state === 'IDLE' || state === 'INITIALIZING') return { kind: 'notStarted', text: 'No migration is running.' };
  if (verification === null) {
    return { kind: 'notVerified', text: 'Not verified: this direction runs without the embedded verifier.' };
  }
  const differing = progress.commitBlockers?.find(({ reason }) => reason === 'mismatches');
  if (differing !== undefined) {
    return {
      kind: 'differs',
      text: `${countText(differing.value)} documents differ. The list of mismatches names them.`,
    };
  }
  const { hashedDocumentCount: compared, estimatedDocumentCount: total } = verification.source;
  if (state === 'COMMITTED')
    return { kind: 'verified', text: `Verified: ${countText(compared)} documents, 0 mismatches.` };
  return {
    kind: 'verifying',
    text: `${countText(compared)} of ${countText(total)} documents compared, no mismatch so far.`,
  };
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
