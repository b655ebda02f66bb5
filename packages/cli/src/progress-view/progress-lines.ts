import { blockerText } from '@convoy/api/contract/commit-blocker';
import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Progress } from '@convoy/api/contract/progress';
import { shownBlockers } from '@convoy/coordinator/dashboard/views/blocker-groups';
import {
  copyEndText,
  hotDocumentTexts,
  sourceWritesText,
  startedText,
  stepText,
} from '@convoy/coordinator/dashboard/views/progress-texts';
import { bytesText, countText, durationText } from '@convoy/coordinator/dashboard/views/quantity';
import { verdictOf } from '@convoy/coordinator/dashboard/views/verdict';

const barWidth = 40;

/** Progress of one instance or, with additional fields, of a fleet. */
export type ShownProgress = Progress & Partial<FleetProgress>;

/** The progress in one line, for logs and pipes. */
export function progressLine(progress: ShownProgress): string {
  const copy = progress.collectionCopy;
  const step = progress.currentStep;
  const parts = [progress.state, progress.info ?? undefined];
  if (step) parts.push(`step ${step.number} of ${step.count}: ${step.description}`);
  if (isSizeKnown(copy))
    parts.push(
      `${percentOf(progress).toFixed(1)} %`,
      `${bytesText(copy.estimatedCopiedBytes)} of ${bytesText(copy.estimatedTotalBytes)}`,
    );
  const end = copyEndText(progress);
  if (progress.secondsRemaining && end !== '')
    parts.push(`${durationText(progress.secondsRemaining)} left, until ${end}`);
  parts.push(...ratesAndLag(progress));
  if (progress.metadataRemoved === true) parts.push('cleaned up');
  for (const { instance, command } of progress.waitingFor ?? []) parts.push(`WAITING for ${instance} to ${command}`);
  for (const name of new Set((progress.warnings ?? []).map((warning) => warning.name))) parts.push(`warning ${name}`);
  return parts.filter((part) => part !== undefined).join(' · ');
}

/** The progress in several lines, for a terminal: the fleet, a bar, one line per instance, warnings. */
export function progressBlock(progress: ShownProgress): string[] {
  const copy = progress.collectionCopy;
  const head = [progress.state, progress.info ?? undefined, ...ratesAndLag(progress)]
    .filter((part) => part !== undefined)
    .join(' · ');
  const step = stepText(progress.currentStep);
  const lines = step === '' ? [head] : [head, step];
  if (progress.metadataRemoved === true) lines.push('cleaned up: the metadata is removed from the destination');
  if (isSizeKnown(copy)) {
    const remaining = !progress.secondsRemaining ? '' : `, ${durationText(progress.secondsRemaining)} left`;
    const bytes = `${bytesText(copy.estimatedCopiedBytes)} of ${bytesText(copy.estimatedTotalBytes)}`;
    lines.push(
      `${formatBar(percentOf(progress), barWidth)} ${percentOf(progress).toFixed(1)} % (${bytes}${remaining})`,
    );
  }
  lines.push(...timesLine(progress), ...indexLine(progress), ...verdictLine(progress), ...oplogLine(progress));
  lines.push(...writesLine(progress), ...hotDocumentTexts(progress));
  lines.push(...blockerLines(progress), ...warningLines(progress));
  // Last: a terminal that is too low for a large fleet cuts them, and nothing above.
  for (const instance of progress.instances ?? []) lines.push(instanceLine(instance));
  return lines;
}

/** Blockers have their own lines: the warning that they last would repeat them. */
function warningLines({ warnings, commitBlockers }: ShownProgress): string[] {
  const repeated = shownBlockers(commitBlockers).length > 0 ? 'commitNotOffered' : null;
  return (warnings ?? [])
    .filter(({ name }) => name !== repeated)
    .map(({ name, description }) => `! ${name}: ${description}`);
}

/** Before the copy the contract has 0 of 1 byte. */
function isSizeKnown(copy: Progress['collectionCopy']): copy is NonNullable<Progress['collectionCopy']> {
  return copy !== null && copy.estimatedTotalBytes > 1;
}

/** Reasons that block a commit; during the copy only those that do not end by themselves. */
function blockerLines({ commitBlockers }: ShownProgress): string[] {
  return shownBlockers(commitBlockers).map((blocker) => `no commit yet: ${blockerText(blocker)}`);
}

function timesLine(progress: ShownProgress): string[] {
  const started = startedText(progress, Date.now());
  const end = copyEndText(progress);
  const parts = [started === '' ? '' : `started ${started}`, end === '' ? '' : `the copy ends ${end}`];
  const shown = parts.filter((part) => part !== '').join('; ');
  return shown === '' ? [] : [shown];
}

function writesLine(progress: ShownProgress): string[] {
  return progress.sourceWrites === null ? [] : [sourceWritesText(progress)];
}

/** Only while indexes remain to be built. */
function indexLine({ indexBuilding }: ShownProgress): string[] {
  if (!indexBuilding || indexBuilding.indexesBuilt >= indexBuilding.totalIndexesToBuild) return [];
  return [`indexes: ${countText(indexBuilding.indexesBuilt)} of ${countText(indexBuilding.totalIndexesToBuild)} built`];
}

/** An instance counts only what it has compared itself: in a fleet perhaps nothing. */
function verdictLine(progress: ShownProgress): string[] {
  if (progress.verification === null) return [];
  const { text } = verdictOf({ failure: null, progress });
  return [progress.instances == null ? `By this instance alone: ${text}` : text];
}

function oplogLine({ estimatedOplogTimeRemaining }: ShownProgress): string[] {
  return estimatedOplogTimeRemaining === null
    ? []
    : [`time left in the source's oplog: ${estimatedOplogTimeRemaining}`];
}

function instanceLine(instance: FleetInstance): string {
  const parts = [
    `  ${instance.id}`,
    instance.reachable ? (instance.state ?? 'unknown') : 'no heartbeat',
    instance.estimatedCopiedBytes === null ? undefined : bytesText(instance.estimatedCopiedBytes),
    ...ratesAndLag(instance),
    instance.error === null ? undefined : `${instance.error}: ${instance.errorDescription ?? ''}`,
  ];
  return parts.filter((part) => part !== undefined).join('  ');
}

interface Rates {
  copyBytesPerSecond?: number | null;
  eventsPerSecond?: number | null;
  totalEventsApplied: number | null;
  lagTimeSeconds: number | null;
}

function ratesAndLag({ copyBytesPerSecond, eventsPerSecond, totalEventsApplied, lagTimeSeconds }: Rates): string[] {
  const parts: string[] = [];
  if (copyBytesPerSecond) parts.push(`${bytesText(copyBytesPerSecond)}/s`);
  if (totalEventsApplied !== null)
    parts.push(`${countText(totalEventsApplied)} events${eventsPerSecond ? ` (${countText(eventsPerSecond)}/s)` : ''}`);
  if (lagTimeSeconds !== null) parts.push(`lag ${lagTimeSeconds} s`);
  return parts;
}

/** The fleet's own percentage, or the copied part of a lone instance. */
function percentOf({ percent, collectionCopy }: ShownProgress): number {
  if (percent != null) return percent;
  return collectionCopy
    ? (100 * collectionCopy.estimatedCopiedBytes) / Math.max(collectionCopy.estimatedTotalBytes, 1)
    : 0;
}

/** `percent` (0 to 100) as a bar of `width` characters. */
export function formatBar(percent: number, width: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * width);
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
}
