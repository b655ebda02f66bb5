import type { Progress, VerificationSideProgress } from '@convoy/api/contract/progress';
import { verificationPhases } from '@convoy/api/contract/verification';
import { earliestOf, maxOf, sumOf } from './nullable-stats.js';

function foldSides(sides: readonly VerificationSideProgress[]): VerificationSideProgress {
  return {
    estimatedDocumentCount: sumOf(sides.map((side) => side.estimatedDocumentCount)),
    hashedDocumentCount: sumOf(sides.map((side) => side.hashedDocumentCount)),
    lagTimeSeconds: maxOf(sides.map((side) => side.lagTimeSeconds)),
    phase: earliestOf(
      verificationPhases,
      sides.map((side) => side.phase),
    ),
    scannedCollectionCount: sumOf(sides.map((side) => side.scannedCollectionCount)),
    totalCollectionCount: sumOf(sides.map((side) => side.totalCollectionCount)),
  };
}

/** All instances' verifiers as one: summed counts, the earliest phase, the largest lag; null when none runs. */
export function fleetVerification(progresses: readonly Progress[]): Progress['verification'] {
  const running = progresses.flatMap(({ verification }) => (verification === null ? [] : [verification]));
  if (running.length === 0) return null;
  return {
    source: foldSides(running.map(({ source }) => source)),
    destination: foldSides(running.map(({ destination }) => destination)),
  };
}
