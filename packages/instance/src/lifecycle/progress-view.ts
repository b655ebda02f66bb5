import { type Progress, progressInfo, ceaStages, idleProgress, type Warning, type MigrationState } from '@convoy/api/contract/progress';
import type { Leader } from '@convoy/api/fleet/fleet';
import type { IndexBuildProgress } from '../catalog/create-collections.js';
import type { MigrationView } from './migration-watch.js';
import type { ShareFigures } from './share-sync.js';

/** What an instance's progress is made of. */
export interface ProgressSource {
  state: MigrationState;
  view: MigrationView;
  ownIds: readonly string[];
  /** Of each own share; empty while none runs. */
  figures: readonly ShareFigures[];
  syncID: string;
  leader: Leader | null;
  directionMapping: { Source: string; Destination: string };
  /** Fleet-wide: a commit would succeed. */
  canCommit: boolean;
  indexBuilding: IndexBuildProgress | null;
  warnings: Warning[];
}

/** `canCommit` needs a lag of at most this, as users of mongosync know it. */
export const commitLagMax_seconds = 30;

/** The contract's progress document of one instance after its start. */
export function progressOf(source: ProgressSource): Progress {
  const { view, state } = source;
  const lag_seconds = lagOf(source);
  return {
    ...idleProgress(),
    state,
    canCommit: source.canCommit && state === 'RUNNING',
    canWrite: view.record.canWrite,
    info: infoOf(source),
    lagTimeSeconds: lag_seconds,
    totalEventsApplied: eventsApplied(source),
    collectionCopy: collectionCopyOf(source),
    directionMapping: source.directionMapping,
    syncID: source.syncID,
    coordinatorID: source.leader?.syncID ?? null,
    ceaStage: stageOf(source),
    lag: { overallLagSeconds: lag_seconds, crudLagSeconds: lag_seconds, ddlLagSeconds: null },
    indexBuilding: source.indexBuilding,
    source: { pingLatencyMs: null },
    destination: { pingLatencyMs: null },
    warnings: source.warnings,
  };
}

/** Whether the own shares are ready for a commit. */
export function isReadyToCommit(figures: readonly ShareFigures[], shares: number): boolean {
  return figures.length === shares && figures.every((one) => one.copyDone && one.followsStream && one.lag_seconds <= commitLagMax_seconds);
}

/** 0 of 1 before the copy, never more than the total, and equal to it when all is copied. */
function collectionCopyOf(source: ProgressSource): NonNullable<Progress['collectionCopy']> {
  const { record } = source.view;
  if (record.phase === 'starting') return { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 };
  const copied = Math.max(copiedBytes(source), emptySourceByte(source));
  // The leader sets the total to what all have copied a moment after the last one is done; a lone instance knows it at once.
  const ownsAll = record.shareIds.every((id) => source.ownIds.includes(id));
  const total = ownsAll && copyIsDone(source) ? copied : Math.max(1, record.estimatedTotalBytes ?? 1);
  return { estimatedTotalBytes: total, estimatedCopiedBytes: Math.min(copied, total) };
}

/** A source without documents counts as one byte, which the owner of its first share has copied in the end. */
function emptySourceByte(source: ProgressSource): number {
  const { record } = source.view;
  const [first] = record.shareIds;
  const counts = (record.estimatedTotalBytes ?? 1) <= 1 && first !== undefined && source.ownIds.includes(first);
  return counts && copyIsDone(source) ? 1 : 0;
}

function ownShares({ view, ownIds }: ProgressSource) {
  return ownIds.flatMap((id) => view.shares.get(id) ?? []);
}

/** Live figures; the durable ones until the stations run. */
function copiedBytes(source: ProgressSource): number {
  const { figures } = source;
  if (figures.length > 0) return figures.reduce((sum, one) => sum + one.copiedBytes, 0);
  return ownShares(source).reduce((sum, share) => sum + share.copied.bytes, 0);
}

function eventsApplied(source: ProgressSource): number {
  const { figures } = source;
  if (figures.length > 0) return figures.reduce((sum, one) => sum + one.eventsApplied, 0);
  return ownShares(source).reduce((sum, share) => sum + share.eventsApplied, 0);
}

function lagOf({ state, figures }: ProgressSource): number | null {
  if (state === 'PAUSED') return null;
  if (state === 'COMMITTED') return 0;
  return figures.length === 0 ? null : Math.max(...figures.map((one) => one.lag_seconds));
}

function copyIsDone(source: ProgressSource): boolean {
  const { figures } = source;
  if (figures.length > 0) return figures.every((one) => one.copyDone);
  return ownShares(source).every((share) => share.copyDone);
}

function infoOf(source: ProgressSource): string {
  if (source.state === 'PAUSED') return progressInfo.paused;
  if (source.state === 'COMMITTED') return progressInfo.commitCompleted;
  if (source.state === 'COMMITTING') return progressInfo.waitingForCommit;
  if (source.view.record.phase === 'starting') return progressInfo.initializing;
  return copyIsDone(source) ? progressInfo.changeEventApplication : progressInfo.collectionCopy;
}

function stageOf(source: ProgressSource): string | null {
  if (source.view.record.phase === 'starting' || !copyIsDone(source)) return null;
  const lag = lagOf(source);
  return lag !== null && lag <= commitLagMax_seconds ? ceaStages.steadyState : ceaStages.collectionCopyDrain;
}
