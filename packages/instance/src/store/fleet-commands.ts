import type { Metadata } from './metadata.js';
import { type MigrationRecord, missingState } from './migration-record.js';
import { swapsOf } from './reversal.js';
import type { TaskRecord } from './task-record.js';

/**
 * Commands that are recorded for instances that miss them. A commit is not: the source's writers are stopped for a
 * moment, and a commit that begins by itself later would find them at work.
 */
const recordedCommands = ['start', 'pause', 'resume', 'reverse'] as const;
export type RecordedCommandName = (typeof recordedCommands)[number];

/** A command that a coordinator sent to the whole fleet. */
interface RecordedCommand {
  id: string;
  /** Commands of the fleet are counted from 1, in the order in which the first instance took them. */
  number: number;
  /** The `Reversal.turns` in which it was sent. */
  turn: number;
}

/** The last command of each name. */
export interface FleetCommands {
  noted: number;
  last: Partial<Record<RecordedCommandName, RecordedCommand>>;
}

/** A command that a task has not taken. */
export interface MissedCommand {
  name: RecordedCommandName;
  id: string;
}

const recordId = 'migration';

/** Whether a command is recorded for instances that miss it. */
export function isRecordedCommand(name: string): name is RecordedCommandName {
  return (recordedCommands as readonly string[]).includes(name);
}

/**
 * Records a command of the whole fleet before the first instance carries it out. Repeatable: an id is counted once.
 * @returns its number
 * @throws ConvoyError `destinationChanged` without a migration
 */
export async function noteCommand(
  metadata: Metadata,
  name: RecordedCommandName,
  id: string,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    const record = (await metadata.findOne('migration', { _id: recordId }, signal)) as MigrationRecord | null;
    if (record === null) throw missingState();
    const known = record.fleetCommands?.last[name];
    if (known?.id === id) return known.number;
    const noted = record.fleetCommands?.noted;
    const number = (noted ?? 0) + 1;
    const unchanged = noted === undefined ? { fleetCommands: null } : { 'fleetCommands.noted': noted };
    const command: RecordedCommand = { id, number, turn: swapsOf(record) };
    const set = { 'fleetCommands.noted': number, [`fleetCommands.last.${name}`]: command };
    if (await metadata.updateOne('migration', { _id: recordId, ...unchanged }, { $set: set }, signal)) return number;
  }
}

/** The command of the whole fleet that a task has not taken, and can take now; null when there is none. */
export function missedCommand(
  record: Pick<MigrationRecord, 'fleetCommands' | 'failure' | 'phase' | 'reversal'>,
  task: TaskRecord | undefined,
): MissedCommand | null {
  if (record.failure !== null) return null;
  const { start, reverse } = record.fleetCommands?.last ?? {};
  if (task?.started !== true) return start && record.phase === 'starting' ? { name: 'start', id: start.id } : null;
  const turn = swapsOf(record);
  if (reverse?.turn === turn && record.phase === 'committed' && task.reverseRequested !== turn)
    return { name: 'reverse', id: reverse.id };
  const isSyncing = record.phase === 'starting' || record.phase === 'syncing';
  return isSyncing && !task.commitRequested ? missedPause(record, task) : null;
}

/** The later one of pause and resume counts, unless the task has taken a later one, or is as it wants. */
function missedPause(
  { fleetCommands }: Pick<MigrationRecord, 'fleetCommands'>,
  task: TaskRecord,
): MissedCommand | null {
  const { pause, resume } = fleetCommands?.last ?? {};
  const isPause = (pause?.number ?? 0) > (resume?.number ?? 0);
  const last = isPause ? pause : resume;
  if (last === undefined || (task.followed ?? 0) >= last.number || task.paused === isPause) return null;
  return { name: isPause ? 'pause' : 'resume', id: last.id };
}

/** Instances whose tasks have not taken a command of the whole fleet, by task id, in the record's order. */
export function missedCommands(
  record: Pick<MigrationRecord, 'fleetCommands' | 'failure' | 'phase' | 'reversal' | 'taskIds'>,
  tasks: ReadonlyMap<string, TaskRecord>,
): { instance: string; command: RecordedCommandName }[] {
  return record.taskIds.flatMap((instance) => {
    const missed = missedCommand(record, tasks.get(instance));
    return missed === null ? [] : [{ instance, command: missed.name }];
  });
}
