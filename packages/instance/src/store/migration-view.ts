import type { Clock } from '../async/clock.js';
import { timeOf } from '../cluster/cluster-time.js';
import type { StreamPatience } from './change-event.js';
import type { MigrationRecord } from './migration-record.js';
import { swapsOf } from './reversal.js';
import type { TaskRecord } from './task-record.js';
import type { MigrationWatch } from './migration-watch.js';

/** The durable state of the whole migration, as last read. */
export interface MigrationView {
  record: MigrationRecord;
  tasks: ReadonlyMap<string, TaskRecord>;
}

/** Distinguishes migrations of the same fleet: the source's cluster time at which this one starts. */
export function migrationName({ startTime }: MigrationRecord): string {
  return startTime === null ? '' : timeOf(startTime).toString();
}

/** Whether every sync task of the migration has a record, and the condition holds for each record. */
export function allTasks(view: MigrationView, condition: (task: TaskRecord) => boolean): boolean {
  return view.record.taskIds.every((id) => {
    const task = view.tasks.get(id);
    return task !== undefined && condition(task);
  });
}

/** Whether a task has taken the command to reverse the migration in its present direction. */
export function isReverseRequested(
  record: Pick<MigrationRecord, 'phase' | 'reversal'>,
  task: { reverseRequested?: number } | undefined,
): boolean {
  return record.phase === 'committed' && task?.reverseRequested === swapsOf(record);
}

/** Name of the warning while the leader cannot bring definitions of the destination into line. */
export const definitionsWarning = 'definitionsDiffer';

/** Name of the warning while an index is being built that a commit would wait for. */
export const buildsWarning = 'buildingIndexes';

/** Name of the warning while the commit could not take along what `carry` names. */
export const cannotCarryWarning = 'cannotCarry';

/** Name of the warning while documents with the same key of a unique index hold a commit. */
export const heldWarning = 'commitHeldByDuplicates';

/** Whether a migration's record has the warning of a name. */
export function hasWarning({ warnings }: MigrationRecord, name: string): boolean {
  return warnings.some((warning) => warning.name === name);
}

/** Whether documents with the same key of a unique index hold a commit. */
export function isHeld(record: MigrationRecord): boolean {
  return hasWarning(record, heldWarning);
}

/** Instances that take a commit within this time have taken the same command. */
const sameCommand_ms = 60_000;

/**
 * Whether an instance has just taken a commit, so that the others take it without an offer of their own. Not long ago:
 * users may write again since, and what the offer vouches for may have ended.
 * @param now_ms since 1970
 */
export function isCommitJustRequested({ tasks }: MigrationView, now_ms: number): boolean {
  return [...tasks.values()].some(
    ({ commitRequested, requestedAt }) =>
      commitRequested && now_ms - (requestedAt?.getTime() ?? -Infinity) <= sameCommand_ms,
  );
}

/**
 * Whether a commit is passing between instances: from the command to the last sync task, until the destination opens.
 * False while it waits for people, who may take hours.
 */
export function isCommitAwaited({ record, tasks }: MigrationView): boolean {
  if (record.phase === 'committing') return !isHeld(record);
  return record.phase === 'syncing' && record.taskIds.every((id) => tasks.get(id)?.commitRequested === true);
}

/**
 * Whether the commit waits, or is about to wait, for streams to pass a time: these wait for events that may never come.
 */
export function isStreamAwaited(view: MigrationView): boolean {
  const { commit, lastLook } = view.record;
  return isCommitAwaited(view) && (commit?.sealed !== true || (lastLook ?? null) !== null);
}

/** Whether the sync task still has to apply changes below the commit time, or the leader is about to take that time. */
export function isDraining({ record, tasks }: MigrationView, taskId: string): boolean {
  const { phase, commit } = record;
  if (phase !== 'committing' || commit?.sealed === true) return false;
  return commit === null || tasks.get(taskId)?.drained?.round !== commit.round;
}

/** After this long without work, the leader checks the source's position less often. */
const idle_ms = 10_000;

/** Detects that a value, observed repeatedly, has not changed for some time. */
export class IdleDetector {
  #seen: string | null = null;
  #since_ms = 0;

  /** @param after_ms how long it has to be unchanged */
  constructor(
    private readonly clock: Clock,
    private readonly after_ms: number,
  ) {}

  /** @param seen the present value */
  isIdle(seen: string): boolean {
    const now_ms = this.clock.monotonic_ms();
    if (seen !== this.#seen) [this.#seen, this.#since_ms] = [seen, now_ms];
    return now_ms - this.#since_ms >= this.after_ms;
  }
}

/** Detects, from the tasks' records, that no task has had work for some time, or that a commit waits for them. */
export class IdleTasks implements StreamPatience {
  readonly #idle: IdleDetector;

  constructor(
    private readonly watch: MigrationWatch,
    clock: Clock,
  ) {
    this.#idle = new IdleDetector(clock, idle_ms);
  }

  isAwaited(): boolean {
    return isStreamAwaited(this.watch.view);
  }

  isIdle(): boolean {
    const { record, tasks } = this.watch.view;
    const stats = [...tasks.values()].flatMap(({ eventsApplied, copied, copyDone, commitRequested }) => [
      eventsApplied,
      copied.bytes,
      copyDone,
      commitRequested,
    ]);
    return this.#idle.isIdle([record.phase, record.ddlChanges.known, ...stats].join()) && record.phase === 'syncing';
  }
}
