import { type FleetInstance, type FleetProgress, idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import { ceaStages, type MigrationState, type Progress } from '@convoy/api/contract/progress';
import type { Waiting } from '@convoy/api/contract/waiting';
import type { Failure, InstanceReport } from '@convoy/api/fleet/fleet';
import { fleetBlockers, fleetWaiting, startedOf } from './awaited-instances.js';
import {
  earliestOf,
  fleetCopy,
  fleetFailure,
  fleetHotDocuments,
  fleetInfo,
  fleetLag,
  fleetState,
  fleetVerification,
  fleetWrites,
  lagOf,
  leadersOwn,
  percentOf,
  shortestOplogTime,
  slowestCatchUp,
  slowestLink,
  sumOf,
} from './fold-reports.js';
import { instanceRows } from './instance-rows.js';
import { type FleetSnapshot, type Members, membersOf } from './members.js';
import { nextEstimate, type RemainingEstimate } from './time-remaining.js';
import { fleetWarnings, unheardWarning } from './warnings.js';

/** The progress of a whole fleet. */
export interface GlobalProgress {
  /** The failure that ended the migration; `GET /api/v1/progress` then returns it. */
  readonly failure: Failure | null;
  readonly progress: FleetProgress;
  /** One row per known or expected instance, whatever its state. */
  readonly instances: readonly FleetInstance[];
  /** Pass it to the next call. */
  readonly remaining: RemainingEstimate | null;
}

/**
 * The progress of a fleet from its instances' reports; `docs/reference/global-progress.md` has the table.
 * @param snapshot the current snapshot
 * @param remaining the estimate that the previous call returned
 */
export function aggregateProgress(snapshot: FleetSnapshot, remaining: RemainingEstimate | null): GlobalProgress {
  const members = membersOf(snapshot);
  const failure = fleetFailure(members.reports);
  const instances = instanceRows(snapshot, members);
  const states = members.reports.map(({ state }) => state);
  if (states.length > 0 && states.every((state) => state === 'IDLE')) {
    const unheard = unheardWarning(snapshot);
    const progress = { ...idleFleetProgress(), warnings: unheard === null ? null : [unheard] };
    return { failure, progress, instances, remaining: null };
  }
  const waitingFor = fleetWaiting(members, snapshot);
  const started = startedOf(members, waitingFor);
  const state = fleetState(started.map((report) => report.state));
  if (state === 'IDLE') {
    const warnings = fleetWarnings(members, started, waitingFor, snapshot);
    const progress = { ...idleFleetProgress(), warnings, instances };
    return { failure, progress, instances, remaining: null };
  }
  const fields = contractFields(members, started, state, waitingFor, snapshot);
  const living = members.seen.filter(({ fresh }) => fresh).map(({ report }) => report.rates);
  const copyBytesPerSecond = sumOf(living.map((rates) => rates.copyBytesPerSecond)) ?? 0;
  const copy = fields.collectionCopy;
  const bytesLeft = copy === null ? null : copy.estimatedTotalBytes - copy.estimatedCopiedBytes;
  const next = bytesLeft === null ? null : nextEstimate(remaining, bytesLeft, copyBytesPerSecond, snapshot.now_ms);
  const progress: FleetProgress = {
    ...fields,
    instances,
    percent: percentOf(copy),
    copyBytesPerSecond,
    eventsPerSecond: sumOf(living.map((rates) => rates.eventsPerSecond)) ?? 0,
    secondsRemaining: next === null ? null : Math.round(next.seconds),
    copyEndsAt: next === null || next.seconds === 0 ? null : clockMinute(snapshot.now_ms + next.seconds * 1000),
  };
  return { failure, progress, instances, remaining: next };
}

/** Whether there is a migration that can be committed later. An instance expects none before it knows of one. */
function awaitsCommit(state: MigrationState, { expectedIds }: Members): boolean {
  if (state === 'INITIALIZING') return expectedIds.length > 0;
  return state === 'RUNNING' || state === 'PAUSED' || state === 'REVERSING';
}

/** The contract's fields for a fleet that is not idle. */
function contractFields(
  members: Members,
  started: readonly InstanceReport[],
  state: MigrationState,
  waitingFor: Waiting[],
  snapshot: FleetSnapshot,
): Progress {
  const { leader } = snapshot;
  const progresses = members.reports.map(({ progress }) => progress);
  const complete = members.missingIds.length === 0;
  const blockers = fleetBlockers(members, snapshot);
  return {
    state,
    // Once all have taken one, another commit is refused.
    canCommit: state !== 'COMMITTING' && members.seen.length > 0 && blockers.length === 0,
    canWrite: complete && members.reports.length > 0 && members.reports.every(({ ready }) => ready.canWrite),
    info: fleetInfo(started),
    lagTimeSeconds: lagOf(state, progresses),
    totalEventsApplied: sumOf(progresses.map((progress) => progress.totalEventsApplied)),
    collectionCopy: fleetCopy(members),
    directionMapping: leadersOwn(members, (progress) => progress.directionMapping),
    syncID: leader?.syncID ?? null,
    coordinatorID: leader?.syncID ?? null,
    verification: fleetVerification(progresses),
    ceaStage: earliestOf(
      Object.values(ceaStages),
      progresses.map((progress) => progress.ceaStage),
    ),
    lag: fleetLag(progresses),
    indexBuilding: leadersOwn(members, (progress) => progress.indexBuilding),
    source: slowestLink(progresses, 'source'),
    destination: slowestLink(progresses, 'destination'),
    estimatedOplogTimeRemaining: shortestOplogTime(members.reports),
    estimatedSecondsToCEACatchup: slowestCatchUp(progresses),
    warnings: fleetWarnings(members, started, waitingFor, snapshot),
    commitBlockers: awaitsCommit(state, members) ? blockers : null,
    currentStep: leadersOwn(members, (progress) => progress.currentStep),
    sourceWrites:
      complete && members.seen.every(({ fresh }) => fresh)
        ? fleetWrites(progresses.map((progress) => progress.sourceWrites))
        : null,
    hotDocuments: fleetHotDocuments(progresses),
    handOver: leadersOwn(members, (progress) => progress.handOver),
    startedAt: leadersOwn(members, (progress) => progress.startedAt),
    options: leadersOwn(members, (progress) => progress.options),
    metadataRemoved: state === 'COMMITTED' ? progresses.some(({ metadataRemoved }) => metadataRemoved === true) : null,
    waitingFor,
  };
}

/** To the minute: an estimate, and no news every second. */
function clockMinute(at_ms: number): string {
  return new Date(Math.ceil(at_ms / 60_000) * 60_000).toISOString();
}
