import { progressInfo, type MigrationState } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { earliestOf } from './nullable-stats.js';

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
