import type { VerificationSideProgress } from '@convoy/api/contract/progress';
import type { FleetMessage } from '../message.js';
import { countText, durationText } from './quantity.js';

export interface VerifierSideView {
  readonly side: 'Source' | 'Destination';
  readonly phase: string;
  readonly documents: string;
  readonly collections: string;
  /** How far its change stream is behind. */
  readonly lag: string;
}

/** One row per cluster of the embedded verifier; null when it is off. */
export function verifierView({ progress }: FleetMessage): readonly VerifierSideView[] | null {
  const { verification } = progress;
  if (verification === null) return null;
  return [sideView('Source', verification.source), sideView('Destination', verification.destination)];
}

function sideView(side: VerifierSideView['side'], progress: VerificationSideProgress): VerifierSideView {
  return {
    side,
    phase: progress.phase ?? 'not started',
    // The contract's word; the verifier compares what it reads.
    documents: `${countText(progress.hashedDocumentCount)} of ${countText(progress.estimatedDocumentCount)}`,
    collections: `${countText(progress.scannedCollectionCount)} of ${countText(progress.totalCollectionCount)}`,
    lag: durationText(progress.lagTimeSeconds),
  };
}
