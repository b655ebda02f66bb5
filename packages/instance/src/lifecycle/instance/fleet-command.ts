import { commandStates } from '@convoy/api/contract/command-rules';
import type { CommandName } from '@convoy/api/contract/commands';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandResult, Failure, Fleet, FleetCommand, InstanceReport } from '@convoy/api/fleet/fleet';
import { type Acceptance, acceptCommand, type ContractService } from '@convoy/api/http/contract-routes';
import { connectionFailure, unreachable, UnreachableClusterError } from '../../cluster/connection-failure.js';
import { classify, failureName } from '../../cluster/failure.js';
import { knownFailure, namedFailure } from '../../cluster/named-failure.js';
import {
  isRecordedCommand,
  missedCommand,
  type MissedCommand,
  missedCommands,
  noteCommand,
  type RecordedCommandName,
} from '../../store/fleet-commands.js';
import { type MigrationRecord, refuseOtherOptions } from '../../store/migration-record.js';
import type { TaskRecord } from '../../store/task-record.js';
import { allTasks, isReverseRequested } from '../../store/migration-view.js';
import { refuseNewerRelease } from '../migration/release.js';
import type { Runtime } from '../migration/runtime.js';
import type { JoinedMigration } from './joined-migration.js';
import type { MigrationRun } from './migration-run.js';

type CommandedRun = Pick<MigrationRun, 'refresh' | 'metadata'> & {
  readonly deps: Pick<MigrationRun['deps'], 'ownIds'>;
};

/** Executes a command that came through the fleet, with the same checks and answers as one over HTTP. */
export async function carryOut(
  service: Pick<ContractService, CommandName>,
  { commandId, name, body }: FleetCommand,
  awaited_ms?: number,
): Promise<CommandResult> {
  try {
    const { waitingFor } = await acceptCommand(service, name, body, commandId, awaited_ms);
    return { success: true, ...(waitingFor && { waitingFor: [...waitingFor] }) };
  } catch (error) {
    const { error: refusal, errorDescription } = namedFailure(error);
    return { success: false, error: refusal, errorDescription };
  }
}

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

/** Kinds of failures after which the same command may succeed: elections, interruptions and changes of definitions. */
const passingKinds: ReadonlySet<string> = new Set(['retryable', 'cursorLost', 'snapshotTooOld', 'catalogChanged']);

/**
 * What a command is refused with when a call of it has failed.
 * @returns a ConvoyError where the failure passes or an operator can remove it; what was thrown otherwise
 */
export function refusalOf(name: CommandName, thrown: unknown): unknown {
  return knownFailure(thrown) ?? (passingKinds.has(classify(thrown)) ? unavailableDuring(name, thrown) : thrown);
}

/** `sourceUnavailable` where the failure names no cluster. */
function unavailableDuring(name: CommandName, thrown: unknown): ConvoyError {
  const error = thrown instanceof UnreachableClusterError ? thrown.error : 'sourceUnavailable';
  const which = thrown instanceof UnreachableClusterError ? thrown.cluster : `A cluster that ${name} needs`;
  const failure = connectionFailure(thrown);
  const why =
    failure === null ? `${which} refused a call for now: ${failureName(thrown)}.` : unreachable(which, failure);
  return new ConvoyError(error, `${why} Everything done so far is recorded. Send ${name} again.`, { cause: thrown });
}

/** An instance looks for a missed command this often: one or two small reads while it is IDLE, none while it runs. */
const look_ms = 1_000;
/** Delay after a refusal; it doubles with each further one, since a start checks both clusters anew. */
const retry_ms = 5_000;
const retryMax_ms = 60_000;

/** Takes the commands of the whole fleet that this instance missed: it was away, did not answer, or refused them. */
export class MissedCommands {
  #refused: InstanceReport['refused'];
  #refusedId = '';
  #retryAt_ms = 0;
  #delay_ms = retry_ms;

  /** @param taskId the own sync task */
  constructor(
    private readonly runtime: Runtime,
    private readonly taskId: string,
    private readonly migration: JoinedMigration,
    private readonly service: Pick<ContractService, 'start' | 'pause' | 'resume' | 'reverse'>,
    private readonly fleet: Fleet,
  ) {}

  /** Why the instance cannot take the command that it missed; undefined when there is none. */
  get refused(): InstanceReport['refused'] {
    return this.#refused;
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.runtime;
    while (!signal.aborted) {
      await this.look(signal).catch((error: unknown) =>
        logger.debug({ event: 'missedCommandsUnread', err: error }, 'cannot look for missed commands, trying again'),
      );
      await clock.sleep(look_ms, signal);
    }
  }

  /** Looks once, and takes what was missed. */
  async look(signal: AbortSignal): Promise<void> {
    const { runtime } = this;
    const view = await this.migration.recorded();
    const missed = view === null ? null : missedCommand(view.record, view.tasks.get(this.taskId));
    if (view === null || missed === null) {
      this.#settle();
      return;
    }
    if (missed.id === this.#refusedId && runtime.clock.monotonic_ms() < this.#retryAt_ms) return;
    if (missed.id !== this.#refusedId) this.#settle();
    // It would take the command for its successor, which would then never learn of it.
    if ((await this.fleet.isReplaced?.()) === true) return;
    try {
      await this.#take(missed, view.record);
      this.#settle();
      runtime.logger.info(
        { event: 'missedCommandTaken', command: missed.name, commandId: missed.id },
        'took a recorded command of the whole fleet',
      );
    } catch (error) {
      if (!signal.aborted) this.#refuse(missed, error);
    }
  }

  /** The options are those of the record, so that no instance starts with others. */
  async #take({ name, id }: MissedCommand, { options }: MigrationRecord): Promise<void> {
    const { service } = this;
    await (name === 'start' ? service.start(options, id) : service[name](id));
  }

  #refuse({ name, id }: MissedCommand, thrown: unknown): void {
    const { clock, logger } = this.runtime;
    const { error, errorDescription } = namedFailure(thrown);
    this.#refused = { command: name, error, errorDescription };
    this.#refusedId = id;
    this.#retryAt_ms = clock.monotonic_ms() + this.#delay_ms;
    logger.warn(
      { event: 'missedCommandRefused', command: name, error, delay_ms: this.#delay_ms, err: thrown },
      'cannot take a recorded command of the whole fleet yet, trying again',
    );
    this.#delay_ms = Math.min(2 * this.#delay_ms, retryMax_ms);
  }

  #settle(): void {
    this.#refused = undefined;
    this.#refusedId = '';
    this.#delay_ms = retry_ms;
  }
}
