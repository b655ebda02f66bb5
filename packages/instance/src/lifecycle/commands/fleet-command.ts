import type { CommandName } from '@convoy/api/contract/commands';
import type { StartRequest } from '@convoy/api/contract/start-request';
import type { Acceptance } from '@convoy/api/http/contract-routes';
import {
  isRecordedCommand,
  missedCommand,
  missedCommands,
  noteCommand,
  type RecordedCommandName,
} from '../../store/fleet-commands.js';
import { type MigrationRecord, refuseOtherOptions } from '../../store/migration-record.js';
import type { TaskRecord } from '../../store/task-record.js';
import type { MigrationRun } from '../run/migration-run.js';
import { commandStates } from '@convoy/api/contract/command-rules';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import { unreachable, UnreachableClusterError } from '../../cluster/connection-failure.js';
import { refuseNewerRelease } from '../migration/release.js';
import { allTasks, isReverseRequested } from '../migration/migration-view.js';

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
  if (run === null || commandId === undefined || !isRecordedCommand(name)) return false;
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
  if (run === null || commandId === undefined || !isRecordedCommand(name)) return {};
  const { record, tasks } = await run.refresh(signal);
  const missed = missedCommands(record, tasks).filter(({ command }) => command === name || command === 'start');
  return { waitingFor: missed.map(({ instance }) => instance) };
}

/** What leads on from the state in which a command was refused. */
const remedies: Readonly<Record<Exclude<MigrationState, 'INITIALIZING'>, string>> = {
  IDLE: 'There is no migration: start one first.',
  RUNNING: 'The migration runs: progress says how far it is.',
  PAUSED: 'The migration is paused: resume it.',
  COMMITTING: 'Wait until the state is COMMITTED; progress names the present step.',
  COMMITTED: 'The migration is over: clean it up before another one.',
  REVERSING: 'Wait until the state is RUNNING; progress names the present step.',
};

/**
 * @param whyInitializing what an INITIALIZING process waits for, as sentences
 * @throws ConvoyError `notInThisState` that says what to do
 */
export function requireState(command: CommandName, state: MigrationState, whyInitializing: string): void {
  const needed = commandStates[command];
  if (state === needed) return;
  const remedy =
    state === 'INITIALIZING' ? `${whyInitializing} Repeat ${command} once the state is ${needed}.` : remedies[state];
  throw new ConvoyError(
    'notInThisState',
    `${command} is taken in state ${needed} only; the present state is ${state}. ${remedy}`,
  );
}

/**
 * Checks that a start may join the recorded migration.
 * @throws ConvoyError `migrationExists` for one that is over, and the refusal of a newer release's record
 */
export function refuseJoin(recorded: MigrationRecord, release: string): void {
  refuseNewerRelease(recorded.release, release);
  if (recorded.failure !== null || recorded.phase === 'committed') throw new ConvoyError('migrationExists');
}

/**
 * Checks that nothing has failed. An instance that could not start names its own reason: no migration has failed.
 * @throws ConvoyError `migrationFailed`, or the failure to start
 */
export function refuseAfterFailure(failure: Failure | null, hasMigration: boolean): void {
  if (failure === null) return;
  if (hasMigration) throw new ConvoyError('migrationFailed');
  throw new ConvoyError(
    failure.error,
    `This instance could not start: ${failure.errorDescription} Then restart the instance.`,
  );
}

/** The refusal of a command during which a cluster was unreachable: `sourceUnavailable` where none is named. */
export function unreachableDuring(name: CommandName, cause: unknown): ConvoyError {
  const [error, which] =
    cause instanceof UnreachableClusterError
      ? [cause.error, unreachable(cause.cluster, cause.failure)]
      : (['sourceUnavailable', `A cluster could not be reached during ${name}.`] as const);
  return new ConvoyError(error, `${which} Everything done so far is recorded. Send ${name} again.`, { cause });
}
