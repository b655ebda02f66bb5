import type { FleetMessage } from '../message.js';
import { countText, durationText } from './quantity.js';

export interface VerifierSideView {
  readonly side: 'Source' | 'Destination';
  readonly phase: string;
  readonly documents: string;
  readonly collections: string;
  readonly lag: string;
  /** 0 to 100. */
  readonly percent: number | null;
}

/** The embedded verifier's two sides; null when it is off. */
export function verifierView({ progress }: FleetMessage): readonly VerifierSideView[] | null {
  const { verification } = progress;
  if (verification === null) return null;
  const sides = [
    ['Source', verification.source],
    ['Destination', verification.destination],
  ] as const;
  return sides.map(([side, one]) => ({
    side,
    phase: one.phase ?? 'not started',
    documents: `${countText(one.hashedDocumentCount)} of ${countText(one.estimatedDocumentCount)}`,
    collections: `${countText(one.scannedCollectionCount)} of ${countText(one.totalCollectionCount)}`,
    lag: durationText(one.lagTimeSeconds),
    percent: partOf(one.hashedDocumentCount, one.estimatedDocumentCount),
  }));
}

function partOf(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole === 0 ? null : Math.min(100, (part / whole) * 100);
}
