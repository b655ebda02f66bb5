import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { timeOf } from '../cluster/cluster-time.js';
import type { DrainedRound, TaskRecord } from './task-record.js';
import type { MigrationPhase, MigrationRecord } from './migration-record.js';

/**
 * What holds for the durable state whatever fails. A late or repeated write of a process that is replaced breaks none:
 * its condition refuses it. So a broken rule is an error of Convoy, and ends the work before it is written.
 */
export const stateRules = {
  phaseFollows: 'a phase is left for the next one alone: none is left out',
  startTimeStays: 'the start time is set with the phase syncing, or by a swap, and stays',
  roundsRise: 'a commit round has the next number and a later time than the one before; its own time stays',
  sealedWithCatalog: 'a commit time is sealed together with a catalog, and only that of the present round',
  comparisonsRise: 'each comparison that the leader asks for has a higher number than the one before',
  writableOnceOpening: 'users may write to the destination only once its opening is decided',
  leaderEpochsRise: 'a leader has a higher epoch than every one before it',
  taskEpochsRise: 'the owner of a task has a higher epoch than every one before it',
  taskTotalsRise: 'apply watermark, acknowledgement and counted events of a task never fall under one owner',
  drainedRoundsRise: 'a task drains no round before one that it has drained',
} as const;

/** @throws ConvoyError `internalError` that names the rule, unless it holds */
export function requireRule(holds: boolean, rule: keyof typeof stateRules, detail: string): void {
  if (!holds)
    throw new ConvoyError(
      'internalError',
      `A rule of the state is broken: ${stateRules[rule]} (${rule}: ${detail}). Report it with the log.`,
    );
}

const nextPhase: Readonly<Record<MigrationPhase, MigrationPhase>> = {
  starting: 'syncing',
  syncing: 'committing',
  committing: 'opening',
  opening: 'committed',
  committed: 'reversing',
  reversing: 'syncing',
};
/** In the order of one direction; the conditions of the writes refuse the way back. */
const order: readonly MigrationPhase[] = ['starting', 'syncing', 'committing', 'opening', 'committed'];

/**
 * What of a migration a leader knows for certain: as it took over, with its own writes since. Records of earlier
 * releases may lack a field.
 */
export type LedState = Pick<MigrationRecord, 'phase' | 'leaderEpoch'> &
  Partial<Pick<MigrationRecord, 'startTime' | 'commit' | 'verification'>>;

/** Checks a write of the leader. Writes that would set the record back are none of its concern: they match nothing. */
export function checkLedWrite(known: LedState, set: Partial<MigrationRecord>): void {
  const { phase = known.phase, startTime, commit, verification, canWrite } = set;
  const isBack = order.indexOf(phase) < order.indexOf(known.phase) && phase !== 'reversing';
  const isNext = phase === known.phase || phase === nextPhase[known.phase];
  requireRule(isNext || isBack, 'phaseFollows', `${known.phase}, ${phase}`);
  if (startTime && known.startTime && phase !== 'reversing')
    requireRule(startTime.equals(known.startTime), 'startTimeStays', phase);
  if (commit && phase !== 'reversing') checkRound(known.commit ?? null, commit);
  if (verification) {
    const before = known.verification?.number ?? 0;
    requireRule(verification.number > before, 'comparisonsRise', `${before}, ${verification.number}`);
  }
  if (canWrite) requireRule(phase === 'opening', 'writableOnceOpening', phase);
}

function checkRound(known: MigrationRecord['commit'], next: NonNullable<MigrationRecord['commit']>): void {
  const before = known?.round ?? 0;
  const detail = `${before}, ${next.round}`;
  if (next.sealed) requireRule(next.catalogEpoch !== null && next.round === before, 'sealedWithCatalog', detail);
  if (known === null || next.round > before)
    requireRule(
      next.round === before + 1 && (known === null || timeOf(next.time) > timeOf(known.time)),
      'roundsRise',
      detail,
    );
  else if (next.round === before) requireRule(next.time.equals(known.time), 'roundsRise', detail);
}

/** Checks that an epoch was not given out before. */
export function checkEpoch(rule: 'leaderEpochsRise' | 'taskEpochsRise', known: number | undefined, next: number): void {
  requireRule(known === undefined || next > known, rule, `${known ?? 0}, ${next}`);
}

/** What of a task never falls under one owner. */
export type RisingTotals = Pick<TaskRecord, 'applyWatermark' | 'acknowledged' | 'eventsApplied'>;

/** Checks a write of a task's owner against what it has stored before; a checkpoint that falls is never stored. */
export function checkTaskWrite(stored: RisingTotals, { applyWatermark, ...fields }: Partial<TaskRecord>): void {
  if (applyWatermark && stored.applyWatermark !== null)
    requireRule(timeOf(applyWatermark) >= timeOf(stored.applyWatermark), 'taskTotalsRise', 'apply watermark');
  for (const name of ['acknowledged', 'eventsApplied'] as const) {
    const next = fields[name] ?? stored[name];
    requireRule(next >= stored[name], 'taskTotalsRise', `${name} ${stored[name]}, ${next}`);
  }
}

/** Checks what a task reports as drained against what it, or its former owner, has reported. */
export function checkDrained(before: DrainedRound | null, next: DrainedRound): void {
  requireRule(next.round >= (before?.round ?? 0), 'drainedRoundsRise', `${before?.round ?? 0}, ${next.round}`);
}
