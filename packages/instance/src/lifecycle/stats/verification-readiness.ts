import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import { blockedBy, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import { nameSome } from '../../catalog/name-some.js';
import type { LastingDifferences } from '../../store/task-record.js';
import { rereadsMax } from '../../verify/embedded/difference-history.js';
import { offeredLagMax_seconds } from './commit-readiness.js';

/** The verifier compares this many documents of later collections within a few seconds: a commit can wait for them. */
export const leftDocumentsMax = 100_000;

/** How far the verifier of a sync task is. */
export interface VerifierProgress {
  hasCompared: boolean;
  /** Documents that are known and not compared yet. */
  leftDocuments: number;
  /** Lag of reading the change streams. Keys that users write all the time wait for another look, and do not count. */
  readLag_seconds: number;
  /** Differences with no change on its way: a commit would fail. */
  lasting: LastingDifferences;
}

/**
 * Whether a last look would be short. Collections that come and go do not withdraw an offer, nor does a lag that swings
 * around the limit.
 */
export class VerificationReadiness {
  #offered = false;

  /** @returns what a commit would wait for longest; null when a last look would be short */
  judge(progress: VerifierProgress): OwnBlocker | null {
    const blocker = blockerOf(progress, this.#offered ? offeredLagMax_seconds : steadyLagMax_seconds);
    this.#offered = blocker === null;
    return blocker;
  }
}

function blockerOf(
  { hasCompared, leftDocuments, readLag_seconds, lasting }: VerifierProgress,
  lagMax_seconds: number,
): OwnBlocker | null {
  if (lasting.documents > 0)
    return blockedBy('mismatches', lastingText(lasting), { value: lasting.documents, limit: 0 });
  const left = Math.max(0, leftDocuments);
  if (!hasCompared) return blockedBy('verifying', `the verifier ${leftText(left)}`, { value: left, limit: 0 });
  if (left > leftDocumentsMax) {
    const limit = grouped(leftDocumentsMax);
    const description = `the verifier has ${counted(left)} of new collections left (limit ${limit})`;
    return blockedBy('verifying', description, { value: left, limit: leftDocumentsMax });
  }
  if (readLag_seconds <= lagMax_seconds) return null;
  const description = `the verifier is ${readLag_seconds} s behind (limit ${lagMax_seconds} s)`;
  return blockedBy('verifierLag', description, { value: readLag_seconds, limit: lagMax_seconds });
}

/** What differs permanently, and how far reading it again has come. */
function lastingText({ documents, namespaces, givenUp }: LastingDifferences): string {
  const outcome =
    givenUp === 0
      ? 'and are being read again'
      : `${grouped(givenUp)} of them although they were read again ${rereadsMax} times`;
  return (
    `${counted(documents)} differ, in: ${nameSome([...namespaces].sort())}, ${outcome} (GET ` +
    '/api/v1/verification/mismatches names them)'
  );
}

function leftText(left: number): string {
  return left === 0 ? 'finishes its first comparison' : `has not compared everything: ${counted(left)} are left`;
}

/** For people: `424,231 documents`. */
function counted(documents: number): string {
  return `${grouped(documents)} documents`;
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
