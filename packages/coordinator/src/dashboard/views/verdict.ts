import type { Verdict } from '@convoy/api/contract/migration-report';
import type { Progress } from '@convoy/api/contract/progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import { countText } from './quantity.js';

interface MigrationOutcome {
  readonly failure: Failure | null;
  readonly progress: Pick<Progress, 'state' | 'verification' | 'commitBlockers'>;
}

/** Result of comparing both clusters, as one sentence: the same in the report, the command line and the dashboard. */
export function verdictOf({ failure, progress }: MigrationOutcome): Verdict {
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
    return { kind: 'verified', text: `Verified: ${countText(compared)} documents compared, 0 mismatches.` };
  if (compared === 0) return { kind: 'verifying', text: 'The verifier has not compared a document yet.' };
  return {
    kind: 'verifying',
    text: `${countText(compared)} of ${countText(total)} documents compared, no mismatch so far.`,
  };
}
