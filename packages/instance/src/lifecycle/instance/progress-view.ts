import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import { oplogTimeInWords } from '@convoy/api/contract/oplog-time';
import {
  ceaStages,
  idleProgress,
  type MigrationState,
  mostWritten,
  type Progress,
  progressInfo,
  type Warning,
} from '@convoy/api/contract/progress';
import type { Leader } from '@convoy/api/fleet/fleet';
import { type SourceWrites, writesWindow_seconds } from '../../apply/recent-writes.js';
import type { RetryNotice } from '../../async/retry.js';
import type { IndexBuildProgress } from '../../catalog/index-builds.js';
import type { SkippedIndex } from '../../catalog/index-plan.js';
import { nameSome } from '../../catalog/name-some.js';
import { secondsOf, timeOf } from '../../cluster/cluster-time.js';
import { missedCommands } from '../../store/fleet-commands.js';
import { isReverseRequested, type MigrationView } from '../../store/migration-view.js';
import type { Runtime } from '../migration/runtime.js';
import { hotDocumentsOf, type TaskStats, totalsOf } from '../task/task-stats.js';
import { verificationOf, type VerificationStats } from '../task/verification-stats.js';
import { currentStepOf } from './current-step.js';
import type { Observed } from './migration-observer.js';

/** An instance does not see why a peer has not taken a recorded command; a coordinator does. */
const untaken = 'the command is recorded, and the instance takes it by itself once it runs.';

/** What an instance's progress is made of. */
export interface ProgressSource {
  state: MigrationState;
  view: MigrationView;
  ownIds: readonly string[];
  /** Of each own task; empty while none runs. */
  stats: readonly TaskStats[];
  /** Of each own task's verifier; null when the migration is not verified. */
  verification: readonly (VerificationStats | null)[] | null;
  syncID: string;
  leader: Leader | null;
  directionMapping: { Source: string; Destination: string };
  /** Fleet-wide: a commit would succeed. */
  canCommit: boolean;
  commitBlockers: Progress['commitBlockers'];
  indexBuilding: IndexBuildProgress | null;
  observed: Observed;
  warnings: Warning[];
  isMetadataRemoved: boolean;
}

/** The contract's progress document of one instance after its start. */
export function progressOf(source: ProgressSource): Progress {
  const { view, state, observed } = source;
  return {
    ...idleProgress(),
    state,
    canCommit: source.canCommit && state === 'RUNNING',
    canWrite: view.record.canWrite,
    info: infoOf(source),
    lagTimeSeconds: lagOf(source),
    totalEventsApplied: totals(source).reduce((sum, task) => sum + task.eventsApplied, 0),
    collectionCopy: collectionCopyOf(source),
    directionMapping: source.directionMapping,
    syncID: source.syncID,
    coordinatorID: source.leader?.syncID ?? null,
    verification: source.verification === null ? null : verificationOf(source.verification, state === 'COMMITTED'),
    ceaStage: stageOf(source),
    lag: lagsOf(source),
    indexBuilding: source.indexBuilding,
    source: { pingLatencyMs: tenths(observed.sourcePing_ms) },
    destination: { pingLatencyMs: tenths(observed.destinationPing_ms) },
    estimatedOplogTimeRemaining: oplogTimeOf(source),
    estimatedSecondsToCEACatchup: catchUpOf(source),
    warnings: [...source.warnings, ...observed.warnings],
    commitBlockers: source.commitBlockers,
    currentStep: currentStepOf(view, state),
    sourceWrites: state === 'RUNNING' || state === 'COMMITTING' ? sourceWritesOf(source.stats) : null,
    hotDocuments: state === 'RUNNING' || state === 'COMMITTING' ? hotDocumentsOf(source.stats) : null,
    handOver: handOverOf(view.record),
    startedAt: startOf(view.record.startTime),
    options: reportedOptions(view.record.options),
    metadataRemoved: state === 'COMMITTED' ? source.isMetadataRemoved : null,
    waitingFor: missedCommands(view.record, view.tasks).map((missed) => ({ ...missed, description: untaken })),
  };
}

function handOverOf({ handOver }: MigrationView['record']): Progress['handOver'] {
  if (!handOver) return null;
  const time = ({ t, i }: { t: number; i: number }) => ({ t, i, at: new Date(t * 1000).toISOString() });
  return { source: time(handOver.source), destination: time(handOver.destination) };
}

/** Every report repeats them, so longer ones stay out. */
const optionCharactersMax = 8 * 1024;

function reportedOptions(options: MigrationView['record']['options']): Progress['options'] {
  return JSON.stringify(options).length <= optionCharactersMax ? { ...options } : null;
}

function startOf(time: MigrationView['record']['startTime']): string | null {
  return time === null ? null : new Date(secondsOf(timeOf(time)) * 1000).toISOString();
}

/** 0 of 1 before the copy, never more than the total, and equal to it when everything is copied. */
function collectionCopyOf(source: ProgressSource): NonNullable<Progress['collectionCopy']> {
  const { record } = source.view;
  if (record.phase === 'starting') return { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 };
  const ownsAll = record.taskIds.every((id) => source.ownIds.includes(id));
  // The leader sets the total to the copied bytes a moment after the last task is done; a lone instance knows it at
  // once. Where nothing was copied, that is one byte.
  const isWhole = ownsAll && copyIsDone(source);
  const copiedBytes = totals(source).reduce((sum, task) => sum + task.copiedBytes, 0);
  const copied = Math.max(copiedBytes, isWhole ? 1 : emptySourceByte(source));
  const total = isWhole ? copied : Math.max(1, record.estimatedTotalBytes ?? copied);
  return { estimatedTotalBytes: total, estimatedCopiedBytes: Math.min(copied, total) };
}

/** A source without documents counts as one byte, which the owner of its first task has copied in the end. */
function emptySourceByte(source: ProgressSource): number {
  const { record } = source.view;
  const [first] = record.taskIds;
  const counts = (record.estimatedTotalBytes ?? 1) <= 1 && first !== undefined && source.ownIds.includes(first);
  return counts && copyIsDone(source) ? 1 : 0;
}

function totals({ stats, view, ownIds }: ProgressSource) {
  return totalsOf(stats, view, ownIds);
}

function lagOf({ state, stats }: ProgressSource): number | null {
  if (state === 'PAUSED' || state === 'REVERSING') return null;
  if (state === 'COMMITTED') return 0;
  return stats.length === 0 ? null : Math.max(...stats.map((one) => one.lag_seconds));
}

/** The parts of the lag; `lagTimeSeconds` is that of changes of documents. */
function lagsOf(source: ProgressSource): NonNullable<Progress['lag']> {
  const crudLagSeconds = lagOf(source);
  const ddlLagSeconds =
    source.state === 'RUNNING' || source.state === 'COMMITTING' ? source.observed.ddlLag_seconds : crudLagSeconds;
  const overallLagSeconds = crudLagSeconds === null ? null : Math.max(crudLagSeconds, ddlLagSeconds ?? 0);
  return { overallLagSeconds, crudLagSeconds, ddlLagSeconds };
}

function catchUpOf({ state, observed }: ProgressSource): number | null {
  if (state === 'COMMITTED') return 0;
  return state === 'PAUSED' ? null : observed.catchUp_seconds;
}

/** Null where no oplog is readable, or needed any more. */
function oplogTimeOf({ state, observed }: ProgressSource): string | null {
  return state === 'COMMITTED' || !observed.seesOplogs ? null : oplogTimeInWords(observed.oplogRemaining_seconds);
}

function tenths(stat: number | null): number | null {
  return stat === null ? null : Math.round(stat * 10) / 10;
}

function copyIsDone(source: ProgressSource): boolean {
  return totals(source).every((task) => task.copyDone);
}

function infoOf(source: ProgressSource): string {
  if (source.state === 'PAUSED') return progressInfo.paused;
  if (source.state === 'REVERSING') return progressInfo.reversing;
  if (source.state === 'COMMITTED') return progressInfo.commitCompleted;
  if (source.state === 'COMMITTING') return progressInfo.waitingForCommit;
  if (source.view.record.phase === 'starting') return progressInfo.initializing;
  return copyIsDone(source) ? progressInfo.changeEventApplication : progressInfo.collectionCopy;
}

function stageOf(source: ProgressSource): string | null {
  if (source.view.record.phase === 'starting' || !copyIsDone(source)) return null;
  const lag = lagOf(source);
  return lag !== null && lag <= steadyLagMax_seconds ? ceaStages.steadyState : ceaStages.collectionCopyDrain;
}

/** The writes of an instance's source shards; null while a stream is too far behind to show the present. */
export function sourceWritesOf(stats: readonly TaskStats[]): Progress['sourceWrites'] {
  const current = stats.flatMap(({ sourceWrites, followsStream, readLag_seconds }) =>
    sourceWrites !== undefined && followsStream && readLag_seconds < writesWindow_seconds ? sourceWrites : [],
  );
  if (stats.length === 0 || current.length < stats.length) return null;
  const last_seconds = Math.max(...current.map(({ lastWrite_seconds }) => lastWrite_seconds ?? 0));
  return {
    windowSeconds: writesWindow_seconds,
    writes: current.reduce((sum, { writes }: SourceWrites) => sum + writes, 0),
    namespaces: mostWritten(current.flatMap(({ namespaces }) => namespaces)),
    lastWriteAt: last_seconds === 0 ? null : new Date(last_seconds * 1000).toISOString(),
  };
}

/**
 * The migration's own warnings, the instances that a step still waits for, and the operations that are being retried.
 * @param isReversing whether this process has taken the command to reverse
 */
export function runWarnings(
  { record, tasks }: MigrationView,
  isReversing: boolean,
  { retries, config }: Runtime,
): Warning[] {
  const warnings: Warning[] = [...record.warnings, ...skippedWarnings(record.skippedIndexes ?? [])];
  const unstarted = record.taskIds.filter((id) => tasks.get(id)?.started !== true);
  if (unstarted.length > 0) {
    warnings.push({
      name: 'waitingForInstances',
      description: record.fleetCommands?.last.start
        ? `WAITING for these instances, which take the recorded start once they run: ${unstarted.join(', ')}.`
        : `Waiting for a start of these instances: ${unstarted.join(', ')}.`,
    });
  }
  const unreversed = isReversing ? record.taskIds.filter((id) => !isReverseRequested(record, tasks.get(id))) : [];
  if (unreversed.length > 0) {
    warnings.push({
      name: 'waitingForInstances',
      description: `Waiting for a reverse of these instances: ${unreversed.join(', ')}.`,
    });
  }
  return [...warnings, ...retryWarnings([...retries.values()], config.retry_minutes)];
}

/** One warning for each failure, with the operations that meet it: without counts, so that it stays the same. */
function retryWarnings(retries: readonly RetryNotice[], limit_minutes: number): Warning[] {
  const failures = new Map<string, string[]>();
  for (const { what, failure } of retries) failures.set(failure, [...(failures.get(failure) ?? []), what]);
  return [...failures].map(([failure, operations]) => ({
    name: 'retrying',
    description:
      `Convoy repeats what fails: ${nameSome(operations.sort())} (${failure}). Check that both clusters answer. ` +
      `The migration fails if this lasts for ${limit_minutes} minutes.`,
  }));
}

/** The warnings about indexes that the destination does not have as the source has them. */
function skippedWarnings(skipped: readonly SkippedIndex[]): Warning[] {
  const absent = skipped.filter(({ outcome }) => outcome === 'absent');
  const plain = skipped.filter(({ outcome }) => outcome === 'notUnique');
  const unique = absent.filter((one) => one.unique);
  return [
    ...(absent.length === 0
      ? []
      : [
          {
            name: 'indexesSkipped',
            description:
              `The destination cannot build these indexes, and does not have them: ${named(absent)}.` +
              (unique.length === 0 ? '' : ` Nothing enforces the uniqueness of ${unique.length} of them.`),
          },
        ]),
    ...(plain.length === 0
      ? []
      : [
          {
            name: 'indexesNotUnique',
            description:
              `Documents violate these unique indexes, which are plain on the destination: ${named(plain)}. ` +
              'Nothing enforces their uniqueness after the commit.',
          },
        ]),
  ];
}

function named(skipped: readonly SkippedIndex[]): string {
  return nameSome(skipped.map(({ namespace, index, failure }) => `${index} of ${namespace} (${failure})`));
}
