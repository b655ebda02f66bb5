import { type NotifiedEvent, notifiedEvents, type NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import { progressInfo } from '@convoy/api/contract/progress';
import type { Failure, SeenReport } from '@convoy/api/fleet/fleet';
import { aggregateProgress } from '../director/aggregate.js';
import { oplogRemaining_seconds } from '../director/fold-reports.js';
import { secondsSilent } from '../director/instance-rows.js';
import { type FleetSnapshot, membersOf } from '../director/members.js';

/** What events are decided by, at one moment. */
export interface Observation {
  readonly failure: Failure | null;
  readonly progress: FleetProgress;
  /** Of the shortest oplog; null while unknown. */
  readonly oplogRemaining_seconds: number | null;
}

/** An event that begins or ends to hold. */
export interface EventChange {
  readonly event: NotifiedEvent;
  readonly status: 'raised' | 'cleared';
}

/** Events whose end is news too. The end of the others only allows their next beginning. */
const CLEARED_WITH_NOTICE: readonly NotifiedEvent[] = ['lag', 'oplog'];

/** In this time after Redis returns, all instances have sent a heartbeat again. */
const ALL_HEARD_MS = 60_000;

/**
 * Lag and oplog of silent instances are those of now, or unknown shortly after this process has connected.
 * @param listening_ms how long this process has been connected
 * @returns null while nothing is known about the fleet
 */
export function observe(snapshot: FleetSnapshot, listening_ms = Number.POSITIVE_INFINITY): Observation | null {
  if (!snapshot.isConnected) return null;
  const reports = new Map([...snapshot.reports].map(([id, seen]) => [id, asOfNow(seen, snapshot)]));
  const now = { ...snapshot, reports };
  const { failure, progress, instances } = aggregateProgress(now, null);
  if (instances.length === 0) return null;
  const members = membersOf(now);
  if (listening_ms < ALL_HEARD_MS && members.seen.some(({ fresh }) => !fresh))
    return { failure, progress: { ...progress, lagTimeSeconds: null }, oplogRemaining_seconds: null };
  return { failure, progress, oplogRemaining_seconds: oplogRemaining_seconds(members.reports) };
}

/** While an instance with a migration is silent, its lag grows and the time of its oplog shrinks. */
function asOfNow(seen: SeenReport, snapshot: FleetSnapshot): SeenReport {
  const { state, failure, progress, oplogRemaining_seconds: oplog_seconds } = seen.report;
  if (seen.fresh || state === 'COMMITTED' || failure !== null) return seen;
  const silence_seconds = secondsSilent(seen, snapshot);
  const lagTimeSeconds = progress.lagTimeSeconds === null ? null : progress.lagTimeSeconds + silence_seconds;
  const report = { ...seen.report, progress: { ...progress, lagTimeSeconds } };
  if (typeof oplog_seconds !== 'number') return { ...seen, report };
  return { ...seen, report: { ...report, oplogRemaining_seconds: Math.max(0, oplog_seconds - silence_seconds) } };
}

/**
 * The events that begin or end to hold. Unknown values and states in between change nothing, so that a restart or a
 * pause repeats nothing.
 * @param standing events that hold so far
 */
export function changesOf(
  observation: Observation,
  limits: Pick<NotifySettings, 'lag' | 'oplog'>,
  standing: ReadonlySet<NotifiedEvent>,
): EventChange[] {
  return notifiedEvents.flatMap((event): EventChange[] => {
    const stood = standing.has(event);
    const stands = rules[event](observation, limits, stood) ?? stood;
    return stands === stood ? [] : [{ event, status: stands ? 'raised' : 'cleared' }];
  });
}

/** Whether receivers learn of the change. */
export function isNews({ event, status }: EventChange): boolean {
  return status === 'raised' || CLEARED_WITH_NOTICE.includes(event);
}

/** Whether an event holds; null leaves it as it is. */
type Rule = (observation: Observation, limits: Pick<NotifySettings, 'lag' | 'oplog'>, stood: boolean) => boolean | null;

const rules: Readonly<Record<NotifiedEvent, Rule>> = {
  ready: ({ failure, progress: { state, canCommit } }) => {
    if (state === 'IDLE' || state === 'COMMITTED' || state === 'REVERSING') return false;
    // Once per direction: a lag around its limit toggles canCommit.
    return state === 'RUNNING' && canCommit && failure === null ? true : null;
  },
  committed: ({ progress: { state, canWrite } }) => {
    if (state === 'INITIALIZING') return null;
    return state === 'COMMITTED' && canWrite === true;
  },
  failed: ({ failure, progress: { state } }) => {
    if (failure !== null) return true;
    return state === 'INITIALIZING' ? null : false;
  },
  lag: ({ progress: { state, info, lagTimeSeconds } }, { lag }, stood) => {
    if (state === 'IDLE' || state === 'COMMITTED') return false;
    // During the copy the lag is the age of the oldest partition, and says nothing about the destination.
    if (info !== progressInfo.changeEventApplication || lagTimeSeconds === null) return null;
    return lagTimeSeconds > (stood ? lag.clear_seconds : lag.raise_seconds);
  },
  oplog: ({ progress: { state }, oplogRemaining_seconds: seconds }, { oplog }, stood) => {
    if (state === 'IDLE' || state === 'COMMITTED') return false;
    return seconds === null ? null : seconds < (stood ? oplog.clear_seconds : oplog.raise_seconds);
  },
};
