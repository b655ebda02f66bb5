import { blockerText } from '@convoy/api/contract/commit-blocker';
import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Progress, VerificationSideProgress } from '@convoy/api/contract/progress';
import { formatBar, formatBytes, formatCount, formatSeconds } from './quantity.js';

const barWidth = 40;

/** Progress of one instance or, with the fields that it adds, of a fleet. */
export type ShownProgress = Progress & Partial<FleetProgress>;

/** One line that says it all, for logs and pipes. */
export function progressLine(progress: ShownProgress): string {
  const copy = progress.collectionCopy;
  const parts = [progress.state, progress.info ?? undefined];
  if (copy)
    parts.push(
      `${percentOf(progress).toFixed(1)} %`,
      `${formatBytes(copy.estimatedCopiedBytes)} of ${formatBytes(copy.estimatedTotalBytes)}`,
    );
  parts.push(...ratesAndLag(progress));
  for (const warning of progress.warnings ?? []) parts.push(`warning ${warning.name}`);
  return parts.filter((part) => part !== undefined).join(' · ');
}

/** Several lines for a terminal: the whole, a bar, one line for each instance, warnings. */
export function progressBlock(progress: ShownProgress): string[] {
  const copy = progress.collectionCopy;
  const head = [progress.state, progress.info ?? undefined, ...ratesAndLag(progress)]
    .filter((part) => part !== undefined)
    .join(' · ');
  const lines = [head];
  if (copy) {
    const remaining = !progress.secondsRemaining ? '' : `, ${formatSeconds(progress.secondsRemaining)} left`;
    const bytes = `${formatBytes(copy.estimatedCopiedBytes)} of ${formatBytes(copy.estimatedTotalBytes)}`;
    lines.push(
      `${formatBar(percentOf(progress), barWidth)} ${percentOf(progress).toFixed(1)} % (${bytes}${remaining})`,
    );
  }
  lines.push(...indexLine(progress), ...verifierLine(progress), ...oplogLine(progress));
  for (const instance of progress.instances ?? []) lines.push(instanceLine(instance));
  lines.push(...blockerLines(progress));
  for (const warning of progress.warnings ?? []) lines.push(`! ${warning.name}: ${warning.description}`);
  return lines;
}

/** Why no commit would be taken, once all is copied: before that it goes without saying. */
function blockerLines({ commitBlockers }: ShownProgress): string[] {
  const blockers = commitBlockers ?? [];
  return blockers.some(({ reason }) => reason === 'copying' || reason === 'notStarted')
    ? []
    : blockers.map((blocker) => `no commit yet: ${blockerText(blocker)}`);
}

/** Only while there is something left to build. */
function indexLine({ indexBuilding }: ShownProgress): string[] {
  if (!indexBuilding || indexBuilding.indexesBuilt >= indexBuilding.totalIndexesToBuild) return [];
  return [
    `indexes: ${formatCount(indexBuilding.indexesBuilt)} of ${formatCount(indexBuilding.totalIndexesToBuild)} built`,
  ];
}

function verifierLine({ verification }: ShownProgress): string[] {
  if (!verification) return [];
  const side = ({ phase, hashedDocumentCount, estimatedDocumentCount }: VerificationSideProgress): string =>
    `${phase ?? 'unknown'}, ${formatCount(hashedDocumentCount ?? 0)} of ${formatCount(estimatedDocumentCount ?? 0)} documents`;
  return [`verifier: source ${side(verification.source)}; destination ${side(verification.destination)}`];
}

function oplogLine({ estimatedOplogTimeRemaining }: ShownProgress): string[] {
  return estimatedOplogTimeRemaining === null
    ? []
    : [`time left in the source's oplog: ${estimatedOplogTimeRemaining}`];
}

function instanceLine(instance: FleetInstance): string {
  const parts = [
    `  ${instance.id}`,
    instance.reachable ? (instance.state ?? 'unknown') : 'not heard of',
    instance.estimatedCopiedBytes === null ? undefined : formatBytes(instance.estimatedCopiedBytes),
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
  if (copyBytesPerSecond) parts.push(`${formatBytes(copyBytesPerSecond)}/s`);
  if (totalEventsApplied !== null)
    parts.push(
      `${formatCount(totalEventsApplied)} events${eventsPerSecond ? ` (${formatCount(eventsPerSecond)}/s)` : ''}`,
    );
  if (lagTimeSeconds !== null) parts.push(`lag ${lagTimeSeconds} s`);
  return parts;
}

/** The fleet's own figure, or the copied part of an instance alone. */
function percentOf({ percent, collectionCopy }: ShownProgress): number {
  if (percent != null) return percent;
  return collectionCopy
    ? (100 * collectionCopy.estimatedCopiedBytes) / Math.max(collectionCopy.estimatedTotalBytes, 1)
    : 0;
}
