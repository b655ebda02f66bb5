import type { VerificationSideProgress } from '@convoy/api/contract/progress';
import type { FleetMessage } from '../message.js';
import { countText, durationText } from './quantity.js';

export interface WarningView {
  readonly name: string;
  readonly description: string;
  /** What to do; empty when the description contains it. */
  readonly advice: string;
}

/** Only for descriptions without advice. */
const advices: Readonly<Record<string, string>> = {
  waitingForInstances: 'Start these instances, or send them the same start.',
  instancesSilent: 'Check their process, host and connection to Redis. Others continue; no data is lost.',
  redisUnavailable: 'Check Redis. Instances keep copying without it; commands need it.',
  mixedStates: 'Normal right after a command. If it persists, repeat the command.',
  moreWarnings: 'Read them from an instance: convoy progress --url.',
};

/** The fleet's warnings with advice. */
export function warningViews({ progress }: FleetMessage): WarningView[] {
  return (progress.warnings ?? []).map(({ name, description }) => ({
    name,
    description,
    advice: adviceOn(name, description),
  }));
}

/** A recorded command says itself what to do. */
function adviceOn(name: string, description: string): string {
  return description.startsWith('WAITING') ? '' : (advices[name] ?? '');
}

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
