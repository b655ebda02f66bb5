import { steadyLagMax_seconds } from './catch-up.js';
import { offeredLagMax_seconds } from './commit-readiness.js';

/** So many documents of collections that came later are compared within a few seconds: a commit can wait for them. */
export const leftDocumentsMax = 100_000;

/** How far the verifier of a share is. */
export interface VerifierProgress {
  hasCompared: boolean;
  /** Documents that are known of and were not compared yet. */
  leftDocuments: number;
  /** Of reading what is written to; keys that are written to all the time are left aside, which wait for a look again and again. */
  readLag_seconds: number;
  /** Documents that differ with nothing on its way: a commit would fail. */
  lastingDocuments: number;
}

/** Whether a last look would be short. Collections that come and go do not take back what was offered, nor does a lag that swings about the limit. */
export class VerificationReadiness {
  #offered = false;

  judge({ hasCompared, leftDocuments, readLag_seconds, lastingDocuments }: VerifierProgress): boolean {
    const lagMax_seconds = this.#offered ? offeredLagMax_seconds : steadyLagMax_seconds;
    this.#offered = hasCompared && lastingDocuments === 0 && leftDocuments <= leftDocumentsMax && readLag_seconds <= lagMax_seconds;
    return this.#offered;
  }
}
