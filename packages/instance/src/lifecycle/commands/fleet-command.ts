import type { CommandName } from '@convoy/api/contract/commands';
import type { StartRequest } from '@convoy/api/contract/start-request';
import type { Acceptance } from '@convoy/api/http/contract-service';
import {
  isRecorded,
  missedCommand,
  missedCommands,
  noteCommand,
  type RecordedCommandName,
} from '../../store/fleet-commands.js';
import { type MigrationRecord, refuseOtherOptions } from '../../store/migration-record.js';
import type { TaskRecord } from '../../store/task-record.js';
import { isReverseRequested } from '../leader/swap-clusters.js';
import { allTasks } from '../migration/migration-watch.js';
import type { MigrationRun } from '../run/migration-run.js';

type CommandedRun = Pick<MigrationRun, 'refresh' | 'metadata'> & {
  readonly deps: Pick<MigrationRun['deps'], 'ownIds'>;
};

/** A command of the whole fleet, or of this instance alone when it has no id. */
export interface GivenCommand {
  name: CommandName;
  commandId: string | undefined;
  /** Of a start. */
  request?: StartRequest;
}

/**
 * Whether the own tasks need not carry out a command of the whole fleet. They have taken this very one, which may come
 * as a message after the instance found it in the record; or they are as it wants while others are not, for which it is
 * recorded then.
 * @throws ConvoyError `optionsDiffer` for a start with other options than the one that waits
 */
export async function isTaken(
  run: CommandedRun | null,
  { name, commandId, request }: GivenCommand,
  signal: AbortSignal,
): Promise<boolean> {
  if (run === null || commandId === undefined || !isRecorded(name)) return false;
  const view = await run.refresh(signal);
  const { record, tasks } = view;
  if (record.fleetCommands?.last[name]?.id === commandId)
    return run.deps.ownIds.every((id) => missedCommand(record, tasks.get(id))?.name !== name);
  const isDone = conditionOf(name, record);
  if (isDone === null || allTasks(view, isDone)) return false;
  if (name === 'start' && request !== undefined) refuseOtherOptions(record, request);
  if (!run.deps.ownIds.every((id) => isDone(tasks.get(id)))) return false;
  await noteCommand(run.metadata, name, commandId, signal);
  return true;
}

/** Whether a task is as a command wants it; null when the phase is past such a command. */
function conditionOf(
  name: RecordedCommandName,
  record: Pick<MigrationRecord, 'phase' | 'reversal'>,
): ((task: TaskRecord | undefined) => boolean) | null {
  const isStarting = record.phase === 'starting';
  if (name === 'start') return isStarting ? (task) => task?.started === true : null;
  if (name === 'reverse') return record.phase === 'committed' ? (task) => isReverseRequested(record, task) : null;
  if (!isStarting && record.phase !== 'syncing') return null;
  return (task) => task?.paused === (name === 'pause');
}

/** The reply to an accepted command: which instances it is recorded for. One for this instance alone names none. */
export async function acceptanceOf(
  run: CommandedRun | null,
  { name, commandId }: GivenCommand,
  signal: AbortSignal,
): Promise<Acceptance> {
  if (run === null || commandId === undefined || !isRecorded(name)) return {};
  const { record, tasks } = await run.refresh(signal);
  const missed = missedCommands(record, tasks).filter(({ command }) => command === name || command === 'start');
  return { waitingFor: missed.map(({ instance }) => instance) };
}
