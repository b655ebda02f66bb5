import { progressInfo, type MigrationState } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { earliestOf } from './nullable-stats.js';

/** Rank of each state. PAUSED and REVERSING rank with RUNNING. */
const stateRanks: Readonly<Record<MigrationState, number>> = {
  INITIALIZING: 0,
  IDLE: 1,
  RUNNING: 2,
  PAUSED: 2,
  REVERSING: 2,
  COMMITTING: 3,
  COMMITTED: 4,
};

/** Values of `info` from the earliest phase to the latest. `paused` implies no phase and comes last. */
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
 * The state of a fleet: PAUSED when all are, otherwise the least advanced state. Among equal ranks, one reversing
 * instance makes the fleet REVERSING, and a single paused one does not make it PAUSED.
 */
export function fleetState(states: readonly MigrationState[]): MigrationState {
  if (states.length > 0 && states.every((state) => state === 'PAUSED')) return 'PAUSED';
  const least = Math.min(...states.map((state) => stateRanks[state]));
  const group = states.filter((state) => stateRanks[state] === least);
  if (group.includes('REVERSING')) return 'REVERSING';
  const first = group[0] ?? 'INITIALIZING';
  return first === 'PAUSED' ? 'RUNNING' : first;
}

/** `info` of the least advanced instance, by state first and then by phase. */
export function fleetInfo(reports: readonly InstanceReport[]): string | null {
  const least = Math.min(...reports.map(({ state }) => stateRanks[state]));
  const infos = reports.filter(({ state }) => stateRanks[state] === least).map(({ progress }) => progress.info);
  return earliestOf(infoOrder, infos);
}
