import { type FleetInstance, type FleetProgress, idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import { hottest } from '@convoy/api/contract/hot-documents';
import { ceaStages, type MigrationState, type Progress } from '@convoy/api/contract/progress';
import type { Waiting } from '@convoy/api/contract/waiting';
import type { Failure, InstanceReport } from '@convoy/api/fleet/fleet';
import { fleetBlockers, fleetWaiting, startedOf } from './awaited-instances.js';
import {
  earliestOf,
  firstOf,
  fleetInfo,
  fleetState,
  fleetVerification,
  fleetWrites,
  maxOf,
  shortestOplogTime,
  sumOf,
} from './fold-reports.js';
import { instanceRows } from './instance-rows.js';
import { type FleetSnapshot, type Members, membersOf } from './members.js';
import { nextEstimate, type RemainingEstimate } from './time-remaining.js';
import { fleetWarnings, unheardWarning } from './warnings.js';

/** An instance before its copy reports 0 of this many bytes, which means unknown. */
const TOTAL_BYTES_UNKNOWN = 1;

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

/** The leader's value, or the first known one when the leader has none. */
function leadersOwn<Value>({ leading, reports }: Members, read: (progress: Progress) => Value | null): Value | null {
  return firstOf([leading === null ? null : read(leading.progress), ...reports.map(({ progress }) => read(progress))]);
}

function fleetCopy({ leading, reports }: Members): Progress['collectionCopy'] {
  const copies = reports.flatMap(({ progress }) => (progress.collectionCopy === null ? [] : [progress.collectionCopy]));
  if (copies.length === 0) return null;
  const leaders = leading?.progress.collectionCopy?.estimatedTotalBytes ?? TOTAL_BYTES_UNKNOWN;
  const largest = Math.max(...copies.map((copy) => copy.estimatedTotalBytes));
  const estimatedTotalBytes = leaders === TOTAL_BYTES_UNKNOWN ? largest : leaders;
  const copied = copies.reduce((sum, copy) => sum + copy.estimatedCopiedBytes, 0);
  return { estimatedTotalBytes, estimatedCopiedBytes: Math.min(copied, estimatedTotalBytes) };
}

function percentOf(copy: Progress['collectionCopy']): number | null {
  if (copy === null) return null;
  // The copy of an empty source is complete once it starts.
  return copy.estimatedTotalBytes === 0 ? 100 : (copy.estimatedCopiedBytes / copy.estimatedTotalBytes) * 100;
}

function fleetLag(progresses: readonly Progress[]): Progress['lag'] {
  const lags = progresses.flatMap(({ lag }) => (lag === null ? [] : [lag]));
  if (lags.length === 0) return null;
  return {
    overallLagSeconds: maxOf(lags.map((lag) => lag.overallLagSeconds)),
    crudLagSeconds: maxOf(lags.map((lag) => lag.crudLagSeconds)),
    ddlLagSeconds: maxOf(lags.map((lag) => lag.ddlLagSeconds)),
  };
}

function slowestLink(progresses: readonly Progress[], side: 'source' | 'destination'): Progress['source'] {
  const links = progresses.flatMap((progress) => (progress[side] === null ? [] : [progress[side]]));
  return links.length === 0 ? null : { pingLatencyMs: maxOf(links.map((link) => link.pingLatencyMs)) };
}

/** If one instance cannot estimate its catch-up time, neither can the fleet. */
function slowestCatchUp(progresses: readonly Progress[]): number | null {
  const estimates = progresses.map((progress) => progress.estimatedSecondsToCEACatchup);
  return estimates.includes(null) ? null : maxOf(estimates);
}

function lagOf(state: MigrationState, progresses: readonly Progress[]): number | null {
  if (state === 'PAUSED') return null;
  return state === 'COMMITTED' ? 0 : maxOf(progresses.map((progress) => progress.lagTimeSeconds));
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

/** Null while no instance applies changes. */
function fleetHotDocuments(progresses: readonly Progress[]): Progress['hotDocuments'] {
  const known = progresses.flatMap(({ hotDocuments }) => (hotDocuments === null ? [] : [hotDocuments]));
  return known.length === 0 ? null : hottest(known);
}

/** To the minute: an estimate, and no news every second. */
function clockMinute(at_ms: number): string {
  return new Date(Math.ceil(at_ms / 60_000) * 60_000).toISOString();
}

/** The failure of the first instance that has one; its description mentions other failures. */
function fleetFailure(reports: readonly InstanceReport[]): Failure | null {
  const failed = reports.flatMap(({ identity, failure }) => (failure === null ? [] : [{ id: identity.id, failure }]));
  const first = failed[0]?.failure;
  if (first === undefined) return null;
  const others = failed.filter(({ failure }) => failure.error !== first.error);
  if (others.length === 0) return first;
  const named = others.map(({ id, failure }) => `${id}: ${failure.error}`).join(', ');
  return {
    error: first.error,
    errorDescription: `${first.errorDescription} Other instances failed too (${named}).`,
  };
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
