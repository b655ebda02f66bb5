import { hottest } from '@convoy/api/contract/hot-documents';
import { oplogTimeInWords } from '@convoy/api/contract/oplog-time';
import {
  type MigrationState,
  mostWritten,
  type Progress,
  progressInfo,
  type VerificationSideProgress,
} from '@convoy/api/contract/progress';
import { verificationPhases } from '@convoy/api/contract/verification';
import type { Failure, InstanceReport } from '@convoy/api/fleet/fleet';
import type { Members } from './members.js';

/**
 * How far each state is on the way to COMMITTED. PAUSED and REVERSING rank with RUNNING: a resume or the end of the
 * reverse leads there.
 */
const stateRanks: Readonly<Record<MigrationState, number>> = {
  INITIALIZING: 0,
  IDLE: 1,
  RUNNING: 2,
  PAUSED: 2,
  REVERSING: 2,
  COMMITTING: 3,
  COMMITTED: 4,
};

/**
 * Values of `info` from the earliest phase to the latest. A reverse leads back to the change event application.
 * `paused` says nothing about the phase, so it counts only when no instance shows one.
 */
const infoOrder: readonly string[] = [
  progressInfo.initializing,
  progressInfo.reversing,
  progressInfo.collectionCopy,
  progressInfo.changeEventApplication,
  progressInfo.waitingForCommit,
  progressInfo.commitCompleted,
  progressInfo.paused,
];

/**
 * The state of a fleet: PAUSED when all instances are, otherwise the least advanced state. Among those, one reversing
 * instance makes the fleet REVERSING, and paused ones count as RUNNING. INITIALIZING without instances.
 */
export function fleetState(states: readonly MigrationState[]): MigrationState {
  if (states.length > 0 && states.every((state) => state === 'PAUSED')) return 'PAUSED';
  const least = Math.min(...states.map((state) => stateRanks[state]));
  const group = states.filter((state) => stateRanks[state] === least);
  if (group.includes('REVERSING')) return 'REVERSING';
  const first = group[0] ?? 'INITIALIZING';
  return first === 'PAUSED' ? 'RUNNING' : first;
}

/** The earliest `info` among the instances with the least advanced state; null without any. */
export function fleetInfo(reports: readonly InstanceReport[]): string | null {
  const least = Math.min(...reports.map(({ state }) => stateRanks[state]));
  const infos = reports.filter(({ state }) => stateRanks[state] === least).map(({ progress }) => progress.info);
  return earliestOf(infoOrder, infos);
}

/** The failure of the first instance that has one; its description mentions other failures. */
export function fleetFailure(reports: readonly InstanceReport[]): Failure | null {
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

/** An instance before its copy reports 0 of this many bytes, which means unknown. */
const TOTAL_BYTES_UNKNOWN = 1;

export function fleetCopy({ leading, reports }: Members): Progress['collectionCopy'] {
  const copies = reports.flatMap(({ progress }) => (progress.collectionCopy === null ? [] : [progress.collectionCopy]));
  if (copies.length === 0) return null;
  const leaders = leading?.progress.collectionCopy?.estimatedTotalBytes ?? TOTAL_BYTES_UNKNOWN;
  const largest = Math.max(...copies.map((copy) => copy.estimatedTotalBytes));
  const estimatedTotalBytes = leaders === TOTAL_BYTES_UNKNOWN ? largest : leaders;
  const copied = copies.reduce((sum, copy) => sum + copy.estimatedCopiedBytes, 0);
  return { estimatedTotalBytes, estimatedCopiedBytes: Math.min(copied, estimatedTotalBytes) };
}

export function percentOf(copy: Progress['collectionCopy']): number | null {
  if (copy === null) return null;
  // The copy of an empty source is complete once it starts.
  return copy.estimatedTotalBytes === 0 ? 100 : (copy.estimatedCopiedBytes / copy.estimatedTotalBytes) * 100;
}

export function lagOf(state: MigrationState, progresses: readonly Progress[]): number | null {
  if (state === 'PAUSED') return null;
  return state === 'COMMITTED' ? 0 : maxOf(progresses.map((progress) => progress.lagTimeSeconds));
}

export function fleetLag(progresses: readonly Progress[]): Progress['lag'] {
  const lags = progresses.flatMap(({ lag }) => (lag === null ? [] : [lag]));
  if (lags.length === 0) return null;
  return {
    overallLagSeconds: maxOf(lags.map((lag) => lag.overallLagSeconds)),
    crudLagSeconds: maxOf(lags.map((lag) => lag.crudLagSeconds)),
    ddlLagSeconds: maxOf(lags.map((lag) => lag.ddlLagSeconds)),
  };
}

export function slowestLink(progresses: readonly Progress[], side: 'source' | 'destination'): Progress['source'] {
  const links = progresses.flatMap((progress) => (progress[side] === null ? [] : [progress[side]]));
  return links.length === 0 ? null : { pingLatencyMs: maxOf(links.map((link) => link.pingLatencyMs)) };
}

/** If one instance cannot estimate its catch-up time, neither can the fleet. */
export function slowestCatchUp(progresses: readonly Progress[]): number | null {
  const estimates = progresses.map((progress) => progress.estimatedSecondsToCEACatchup);
  return estimates.includes(null) ? null : maxOf(estimates);
}

/** Null while no instance applies changes. */
export function fleetHotDocuments(progresses: readonly Progress[]): Progress['hotDocuments'] {
  const known = progresses.flatMap(({ hotDocuments }) => (hotDocuments === null ? [] : [hotDocuments]));
  return known.length === 0 ? null : hottest(known);
}

/** Sums over all shards of the source; null while one is unknown, since nobody may conclude then that writes ended. */
export function fleetWrites(all: readonly Progress['sourceWrites'][]): Progress['sourceWrites'] {
  const known = all.filter((one) => one !== null);
  const [first] = known;
  if (first === undefined || known.length < all.length) return null;
  return {
    windowSeconds: first.windowSeconds,
    writes: known.reduce((sum, { writes }) => sum + writes, 0),
    namespaces: mostWritten(known.flatMap(({ namespaces }) => namespaces)),
    lastWriteAt:
      known
        .flatMap(({ lastWriteAt }) => lastWriteAt ?? [])
        .sort()
        .at(-1) ?? null,
  };
}

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

/** The shortest oplog time of the reports, as the contract words it; null when no instance reads oplogs. */
export function shortestOplogTime(reports: readonly InstanceReport[]): string | null {
  const isRead = reports.some(({ oplogRemaining_seconds: seconds }) => seconds !== undefined);
  return isRead ? oplogTimeInWords(oplogRemaining_seconds(reports)) : null;
}

/** The shortest known oplog time of the reports; null while none is known. */
export function oplogRemaining_seconds(reports: readonly InstanceReport[]): number | null {
  const known = reports.flatMap(({ oplogRemaining_seconds: seconds }) => seconds ?? []);
  return known.length === 0 ? null : Math.min(...known);
}

/** Stats that not every instance knows: unknown values are skipped, and all unknown gives null. */
function known<Stat>(stats: readonly (Stat | null | undefined)[]): Stat[] {
  return stats.filter((stat): stat is Stat & NonNullable<unknown> => stat !== null && stat !== undefined);
}

/** The sum of the known values; null when there are none. */
export function sumOf(stats: readonly (number | null | undefined)[]): number | null {
  const summands = known(stats);
  return summands.length === 0 ? null : summands.reduce((sum, stat) => sum + stat, 0);
}

/** The largest known value; null when there is none. */
export function maxOf(stats: readonly (number | null | undefined)[]): number | null {
  return known(stats).reduce<number | null>(
    (largest, stat) => (largest === null ? stat : Math.max(largest, stat)),
    null,
  );
}

/** The first known value; null when there is none. */
export function firstOf<Value>(values: readonly (Value | null | undefined)[]): Value | null {
  return known(values)[0] ?? null;
}

/**
 * The value that comes first in a fixed order; other values come last.
 * @returns null when no value is known
 */
export function earliestOf<Value extends string>(
  order: readonly string[],
  values: readonly (Value | null | undefined)[],
): Value | null {
  const rank = (value: Value): number => {
    const at = order.indexOf(value);
    return at === -1 ? order.length : at;
  };
  return known(values).reduce<Value | null>(
    (first, value) => (first === null || rank(value) < rank(first) ? value : first),
    null,
  );
}

/** The leader's value, or the first known one when the leader has none. */
export function leadersOwn<Value>(
  { leading, reports }: Members,
  read: (progress: Progress) => Value | null,
): Value | null {
  return firstOf([leading === null ? null : read(leading.progress), ...reports.map(({ progress }) => read(progress))]);
}
