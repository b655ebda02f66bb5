import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { Clock } from '../../async/clock.js';
import { hasPredecessor } from '../../store/fence.js';
import { checkEpoch } from '../../store/state-rules.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import type { MigrationView } from '../../store/migration-view.js';
import type { MigrationWatch } from '../../store/migration-watch.js';
import { namedFailure } from '../../cluster/named-failure.js';
import type { MigrationRecords } from '../../store/migration-record.js';
import { applyWriteBlock, wantedBlocks } from '../migration/write-blocks.js';

/** Delay before a failed answer is given again: a cleanup takes a silent process for gone. */
const answerAgain_ms = 500;

/** The records of this process's sync tasks, which it takes from a former owner and then speaks for. */
export class OwnTasks {
  /** As this process has taken them; empty before that, and after a failure to take them. */
  #taken: Promise<readonly TaskRecord[]> = Promise.resolve([]);
  #hasTaken = false;

  constructor(
    readonly ids: readonly string[],
    private readonly owner: TaskRecord['owner'],
    private readonly records: TaskRecords,
    private readonly watch: MigrationWatch,
    private readonly fleet: Fleet,
  ) {}

  /** As last read, those that exist. */
  get present(): TaskRecord[] {
    return this.ids.flatMap((id) => this.watch.view.tasks.get(id) ?? []);
  }

  /**
   * Takes the tasks: their former owner can write nothing more.
   * @param sessionsMax server sessions of each task
   */
  async take(sessionsMax: number, signal: AbortSignal): Promise<readonly TaskRecord[]> {
    const taking = this.#take(sessionsMax, signal);
    this.#taken = taking.catch(() => []);
    return taking;
  }

  /** Stores fields of all own records. */
  async set(fields: Partial<TaskRecord>, signal: AbortSignal): Promise<void> {
    const taken = await this.#taken;
    for (const id of this.ids) {
      // Uses the epoch of this process: a replaced process must not speak for its successor.
      const own = taken.find((task) => task._id === id) ?? this.watch.view.tasks.get(id);
      await this.records.update(id, own?.epoch ?? 0, fields, signal);
    }
    await this.watch.refresh(signal);
  }

  /** Whether another process has taken one of the tasks since. */
  isReplaced({ tasks }: MigrationView): boolean {
    const { incarnation } = this.owner;
    return this.#hasTaken && this.ids.some((id) => (tasks.get(id)?.owner ?? this.owner).incarnation !== incarnation);
  }

  /**
   * Ends this process once another has taken its tasks. This matters where no write would be refused: before the copy,
   * and paused. Otherwise this process would take the identity back when the other one is silent for a while.
   * @throws ConvoyError `staleEpoch` then
   */
  async endWhenReplaced(signal: AbortSignal): Promise<void> {
    const view = await this.watch.until((seen) => seen.record.phase === 'committed' || this.isReplaced(seen), signal);
    if (this.isReplaced(view)) throw new ConvoyError('staleEpoch');
  }

  /** Shows a cleanup, which asks through the migration's record, that this process is at work; until the signal. */
  async answerMemberChecks(clock: Clock, signal: AbortSignal): Promise<void> {
    for (let answered: string | undefined; !signal.aborted;) {
      const view = await this.watch.until(({ record }) => record.memberCheck !== answered, signal).catch(() => null);
      if (view === null) return;
      const called = view.record.memberCheck;
      try {
        await this.set({ present: called ?? '' }, signal);
        answered = called;
      } catch {
        await clock.sleep(answerAgain_ms, signal).catch(() => undefined);
      }
    }
  }

  async #take(sessionsMax: number, signal: AbortSignal): Promise<TaskRecord[]> {
    const owned: TaskRecord[] = [];
    const { firstEpoch } = this.watch.view.record;
    const options = { firstEpoch, fleet: this.fleet };
    for (const id of this.ids) {
      const before = this.watch.view.tasks.get(id);
      if (before !== undefined && this.#isNew(before)) owned.push(before);
      else {
        const task = await this.records.take(id, this.owner, sessionsMax, signal, options);
        checkEpoch('taskEpochsRise', before?.epoch, task.epoch);
        owned.push(task);
      }
    }
    await this.watch.refresh(signal);
    this.#hasTaken = true;
    return owned;
  }

  /** Whether this process has just made the task, with the start: nobody has worked on it before. */
  #isNew({ epoch, owner }: TaskRecord): boolean {
    const isFirst = !hasPredecessor(this.watch.view.record, epoch) && epoch > (this.watch.view.record.firstEpoch ?? 0);
    return !this.#hasTaken && isFirst && owner.incarnation === this.owner.incarnation;
  }
}

/** Servers forget sessions, and with them the fence against former owners, after 30 minutes without use. */
const sessionRefresh_ms = 5 * 60_000;

/**
 * Refreshes the write sessions of all tasks until the migration is committed: a task's own process may have ended, and
 * a former one may only be frozen.
 */
export async function keepSessions(
  { runtime, destination, watch }: MigrationDependencies,
  signal: AbortSignal,
): Promise<void> {
  while (watch.view.record.phase !== 'committed') {
    await runtime.clock.sleep(sessionRefresh_ms, signal);
    const refreshSessions = [...watch.view.tasks.values()].flatMap(({ sessions }) => sessions.map((id) => ({ id })));
    await runtime.retrying(
      'refresh sessions',
      () => destination.router.command('admin', { refreshSessions }, { signal }),
      signal,
    );
  }
}

/** Where a process records its failure. */
export interface FailureRecord {
  records: MigrationRecords;
  /** Reads the durable state: whether another process has taken the tasks. Rejects as `MigrationWatch.refresh`. */
  isReplaced: () => Promise<boolean>;
}

/**
 * Records a process's failure for the whole migration. A replaced process records nothing: its successor need not meet
 * the same failure. Examples after a freeze are a stream that can no longer be resumed, and exhausted retries.
 * @returns what ends this process: the recorded failure, or `staleEpoch`, which is not recorded
 */
export async function recordFailure(
  { records, isReplaced }: FailureRecord,
  thrown: unknown,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const failure = namedFailure(thrown);
  if (isStale(failure)) return failure;
  // A failure cannot be recorded either where the state cannot be read.
  if (await isReplaced().catch(isStale)) return new ConvoyError('staleEpoch', undefined, { cause: thrown });
  const { error, errorDescription } = failure;
  await records.fail({ error, errorDescription }, signal).catch(() => undefined);
  return failure;
}

/** Whether a later owner or leader, or a later migration, has taken over. */
function isStale(error: unknown): boolean {
  return isConvoyError(error, 'staleEpoch');
}

/** Delay before the next attempt, after a source was unreachable within the retry policy, or has refused. */
const again_ms = 60_000;

/**
 * After a failure before the opening: allows user writes on the source again. It retries until it succeeds, since
 * nobody else does it. Does nothing where the migration has not failed, or was cleaned up.
 */
export async function releaseSource(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { clock, logger } = deps.runtime;
  while (!signal.aborted) {
    try {
      await release(deps, signal);
      return;
    } catch (error) {
      logger.error(
        { event: 'sourceNotReleased', err: error },
        'the block of user writes on the source could not be lifted',
      );
      if (isConvoyError(error, 'destinationChanged')) return;
    }
    await clock.sleep(again_ms, signal).catch(() => undefined);
  }
}

async function release(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { watch, records } = deps;
  const { record } = await watch.refresh(signal);
  if (record.failure === null || wantedBlocks(record).source === null) return;
  await applyWriteBlock(deps, 'source', signal);
  await records.noteSourceReleased(signal);
  await watch.refresh(signal);
}
