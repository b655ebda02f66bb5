import type { FleetMessage } from '../message.js';
import {
  copyEndText,
  elapsedText,
  stepDurationText,
  stepText,
  waitingSentence,
  waitsForStart,
} from './progress-texts.js';
import {
  byteRateText,
  bytesText,
  countText,
  dateTimeText,
  durationText,
  eventRateText,
  percentText,
} from './quantity.js';
import type { Tone } from './tone.js';

/** One step of the migration. */
export interface StepView {
  readonly name: string;
  readonly status: 'done' | 'now' | 'next' | 'failed';
}

/** One number, or a time, with what it is. */
export interface StatView {
  readonly label: string;
  readonly value: string;
  readonly note?: string;
}

export interface StateView {
  readonly state: string;
  readonly tone: Tone;
  /** The phase, or what it waits for, as a sentence. */
  readonly phase: string;
  /** The main number and its label. */
  readonly number: string;
  readonly numberLabel: string;
  /** 0 to 100 for the bar, null without one. */
  readonly percent: number | null;
  readonly remaining: string;
  readonly failure: { readonly name: string; readonly description: string } | null;
  /** Which instances have not taken a recorded command, and why; empty when none. */
  readonly waiting: string;
  readonly steps: readonly StepView[];
  readonly stats: readonly StatView[];
}

/** The total that the API reports until Convoy knows the size: the contract has 0 of 1 then. */
const unknownSize_bytes = 1;

const stepNames = ['Prepare', 'Copy', 'Apply changes', 'Ready', 'Commit', 'Committed'];

/** The fleet's state as text and one number. */
export function stateView(message: FleetMessage): StateView {
  const { failure, progress } = message;
  const state = failure === null ? progress.state : 'FAILED';
  return {
    state,
    tone: toneOf(state),
    phase: phaseOf(message),
    ...numberOf(message),
    failure: failure === null ? null : { name: failure.error, description: failure.errorDescription },
    waiting: failure === null ? waitingSentence(progress.waitingFor) : '',
    steps: stepsOf(message),
    stats: hasBegun(message) ? statsOf(message) : [],
  };
}

/** Whether there is a migration to show numbers of. */
export function hasBegun({ instances, progress: { state } }: FleetMessage): boolean {
  return Object.keys(instances).length > 0 && !['IDLE', 'INITIALIZING'].includes(state);
}

function toneOf(state: string): Tone {
  const tones: Readonly<Record<string, Tone>> = {
    FAILED: 'bad',
    PAUSED: 'warning',
    COMMITTED: 'good',
    IDLE: 'off',
    INITIALIZING: 'idle',
  };
  return tones[state] ?? 'active';
}

function phaseOf({ failure, progress, instances }: FleetMessage): string {
  if (failure !== null)
    return 'The migration has failed. Convoy copies no further; what it has copied stays on the destination.';
  if (Object.keys(instances).length === 0) return 'No instance has reported yet. Start one for each source shard.';
  if (progress.state === 'IDLE') return 'No migration is running.';
  if (progress.state === 'INITIALIZING') return 'Instances are connecting to the clusters.';
  if (progress.state === 'PAUSED') return 'Paused. The oplog keeps rolling: resume before it wraps.';
  if (progress.state === 'COMMITTED' && progress.metadataRemoved === true)
    return 'Committed and cleaned up: Convoy’s metadata is removed from the destination.';
  if (progress.state === 'COMMITTED')
    return progress.canWrite === true ? 'Committed. The destination accepts writes.' : 'Committed.';
  if (progress.currentStep) return stepText(progress.currentStep);
  if (progress.state === 'REVERSING') return 'Swapping source and destination.';
  if (progress.state === 'COMMITTING') return 'Committing.';
  if (waitsForStart(progress)) return 'Waiting: nothing is copied before all instances have started.';
  if (progress.canCommit) return 'Applying changes as they arrive. Ready to commit.';
  const words: Readonly<Record<string, string>> = {
    initializing: 'Creating collections and indexes on the destination.',
    'collection copy': 'Copying documents and applying changes.',
    'change event application': 'All documents copied. Catching up with the source.',
  };
  return words[progress.info ?? ''] ?? progress.info ?? '';
}

function numberOf({
  failure,
  progress,
  now_ms,
}: FleetMessage): Pick<StateView, 'number' | 'numberLabel' | 'percent' | 'remaining'> {
  const { percent, info, state } = progress;
  if (state === 'IDLE' || state === 'INITIALIZING' || info === 'initializing')
    return { number: '–', numberLabel: 'nothing copied yet', percent: null, remaining: '' };
  if (state === 'REVERSING')
    return {
      number: '–',
      numberLabel: 'no copy needed',
      percent: null,
      remaining: 'replaying later writes',
    };
  const copied = { number: percentText(percent), numberLabel: 'copied', percent };
  if (failure !== null) return { ...copied, remaining: '' };
  if (percent !== null && percent >= 100) {
    if (state === 'COMMITTED') return { ...copied, numberLabel: 'copied and committed', remaining: '' };
    if (state === 'COMMITTING')
      return { ...copied, remaining: stepDurationText(progress.currentStep, now_ms) || 'committing' };
    return { ...copied, remaining: catchUpText(progress.estimatedSecondsToCEACatchup, progress.canCommit) };
  }
  const remaining =
    progress.secondsRemaining === null
      ? 'time remaining unknown'
      : `about ${durationText(progress.secondsRemaining)} remaining`;
  return { ...copied, remaining: state === 'PAUSED' ? 'paused' : remaining };
}

function catchUpText(seconds: number | null, canCommit: boolean): string {
  if (canCommit) return 'ready to commit';
  return seconds === null || seconds === 0 ? '' : `about ${durationText(seconds)} to catch up`;
}

/** Index of the current step in `stepNames`: -1 before the first, the length after the last. */
function reachedStep({ progress }: FleetMessage): number {
  const { state, info, canCommit, percent } = progress;
  if (state === 'COMMITTED') return 6;
  if (state === 'COMMITTING') return 4;
  if (state === 'IDLE' || state === 'INITIALIZING') return -1;
  if (info === 'initializing') return 0;
  if (canCommit) return 3;
  // A reverse copies nothing.
  if (state === 'REVERSING') return 2;
  return info !== 'collection copy' && (percent ?? 0) >= 100 ? 2 : 1;
}

function stepsOf(message: FleetMessage): StepView[] {
  const reached = reachedStep(message);
  return stepNames.map((name, at) => {
    if (at < reached) return { name, status: 'done' };
    if (at > reached) return { name, status: 'next' };
    return { name, status: message.failure === null ? 'now' : 'failed' };
  });
}

function statsOf({ progress, instances, now_ms }: FleetMessage): StateView['stats'] {
  const documents = Object.values(instances).flatMap(({ stats }) => stats?.copiedDocuments ?? []);
  const copy = progress.collectionCopy;
  const isSizeKnown = copy !== null && copy.estimatedTotalBytes > unknownSize_bytes;
  return [
    { label: 'Copied', ...(isSizeKnown ? copiedOf(copy) : { value: '–' }) },
    {
      label: 'Documents',
      value: countText(documents.length === 0 || !isSizeKnown ? null : documents.reduce((sum, one) => sum + one, 0)),
    },
    { label: 'Copy rate', value: byteRateText(progress.copyBytesPerSecond) },
    { label: 'Copy ends', value: copyEndText(progress) || (isCopied(progress) ? 'done' : '–') },
    { label: 'Started', ...startedOf(progress, now_ms) },
    { label: 'Events applied', value: countText(progress.totalEventsApplied) },
    { label: 'Event rate', value: eventRateText(progress.eventsPerSecond) },
    { label: 'Lag', value: durationText(progress.lagTimeSeconds) },
    { label: 'Oplog time left', value: progress.estimatedOplogTimeRemaining ?? '–' },
    { label: 'Destination writable', value: progress.canWrite === null ? '–' : progress.canWrite ? 'yes' : 'no' },
  ];
}

function isCopied({ info, percent }: FleetMessage['progress']): boolean {
  return info !== 'collection copy' && info !== 'initializing' && (percent ?? 0) >= 100;
}

function startedOf(progress: FleetMessage['progress'], now_ms: number): Pick<StatView, 'value' | 'note'> {
  const { startedAt } = progress;
  if (startedAt === null) return { value: '–' };
  return { value: dateTimeText(Date.parse(startedAt)), note: elapsedText(progress, now_ms) };
}

function copiedOf(copy: {
  estimatedCopiedBytes: number;
  estimatedTotalBytes: number;
}): Pick<StatView, 'value' | 'note'> {
  return { value: bytesText(copy.estimatedCopiedBytes), note: `of ${bytesText(copy.estimatedTotalBytes)}` };
}
