import type { Fleet } from '@convoy/api/fleet/fleet';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { timeOf } from '../../cluster/cluster-time.js';
import type { MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import { Condition } from '../../store/condition.js';
import type { Runtime } from './runtime.js';

/** The durable state of the whole migration as it was read last. */
export interface MigrationView {
  record: MigrationRecord;
  tasks: ReadonlyMap<string, TaskRecord>;
}

/** What tells a migration from others of the same fleet: the time of the source at which it began. */
export function migrationName({ startTime }: MigrationRecord): string {
  return startTime === null ? '' : timeOf(startTime).toString();
}

/** Whether every share of the migration has a record for which the condition holds. */
export function allTasks(view: MigrationView, condition: (task: TaskRecord) => boolean): boolean {
  return view.record.taskIds.every((id) => {
    const task = view.tasks.get(id);
    return task !== undefined && condition(task);
  });
}

/** Waits until a condition holds for the state, or for a time. Rejects when the signal is aborted. */
export async function untilOrFor(
  { watch, runtime }: { watch: Pick<MigrationWatch, 'until'>; runtime: Pick<Runtime, 'clock'> },
  condition: (view: MigrationView) => boolean,
  longest_ms: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const waiting = new AbortController();
  const end = (): void => waiting.abort();
  signal.addEventListener('abort', end, { once: true });
  await Promise.race([
    watch.until(condition, waiting.signal).catch(() => undefined),
    runtime.clock.sleep(longest_ms, waiting.signal).catch(() => undefined),
  ]);
  signal.removeEventListener('abort', end);
  end();
  signal.throwIfAborted();
}

/** How far the source's definition changes are known and applied, as the record says. */
export interface Journalled {
  /** Entries of the journal that count, and those of them that are done: the largest ordinals. */
  known: number;
  done: number;
  /** All definition changes below this cluster time are among the entries that count; null before the first word of it. */
  ddlWatermark: bigint | null;
}

/** Without news from peers the state is read this often: two small reads. */
const poll_ms = 1000;
/** Nudges may come dozens of times a second; reading more often than this gains nothing. */
const pollMin_ms = 150;
/**
 * The same while a commit goes from hand to hand, for each share of the migration: a fleet of any size then reads as often,
 * and a small one, whose steps take no longer than this, at once.
 */
const commitPollMin_ms = 10;

/**
 * Keeps the durable state of the migration in view. Barriers of the fleet are conditions on it: the metadata database
 * decides, and the fleet's messages only say when to look, which no number of them makes happen more often than the pauses allow.
 */
export class MigrationWatch {
  readonly #changed = new Condition();
  #view: MigrationView;
  /** Of the migration of this start time; nothing of it goes back. */
  #journalled: { migration: string } & Journalled;
  #wake: () => void = () => undefined;
  /** The state, or only how far definition changes are known, may have changed since the last reading of it began. */
  #hasNews = false;
  #hasDdlWatermarkNews = false;
  #refreshesStarted = 0;
  #refreshShown = 0;

  constructor(
    private readonly records: MigrationRecords,
    private readonly tasks: TaskRecords,
    private readonly fleet: Fleet,
    private readonly runtime: Runtime,
    initial: MigrationView,
  ) {
    this.#view = initial;
    this.#journalled = journalledBy(initial.record);
  }

  get view(): MigrationView {
    return this.#view;
  }

  /** How far definition changes are known and applied: read anew more often than the view. */
  get journalled(): Journalled {
    return this.#journalled;
  }

  /** Resolves with the view once the condition holds for it, or for what is journalled. */
  async until(condition: (view: MigrationView) => boolean, signal: AbortSignal): Promise<MigrationView> {
    await this.#changed.until(() => condition(this.#view), signal);
    return this.#view;
  }

  /** Reads the state now. Of several reads at once the one that began last counts: the view never goes back. */
  async refresh(signal: AbortSignal): Promise<MigrationView> {
    const turn = (this.#refreshesStarted += 1);
    const [record, tasks] = await Promise.all([this.records.read(signal), this.tasks.readAll(signal)]);
    if (record === null) throw stateVanished();
    if (turn < this.#refreshShown) return this.#view;
    this.#refreshShown = turn;
    this.#view = { record, tasks: new Map(tasks.map((task) => [task._id, task])) };
    this.#takeJournalled(record);
    this.#changed.changed();
    return this.#view;
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const unwatch = this.fleet.watch((news) => {
      // Who has changed the state says so by a nudge. Reports come all the time and tell nothing of it.
      if (news.has('wake') || news.has('leader')) this.#hasNews = true;
      if (news.has('ddlWatermark')) this.#hasDdlWatermarkNews = true;
      if (this.#hasNews || this.#hasDdlWatermarkNews) this.#wake();
    });
    try {
      await this.#look(signal);
    } finally {
      unwatch();
    }
  }

  /** Horizon news come several times a second, to all instances: of a large fleet they cost one small read. */
  async #look(signal: AbortSignal): Promise<never> {
    const { clock } = this.runtime;
    for (let refreshed_ms = clock.monotonic_ms(); ;) {
      await clock.sleep(this.#pause_ms(), signal);
      if (!this.#hasNews && !this.#hasDdlWatermarkNews) await this.#newsOrTime(signal);
      const isDue = this.#hasNews || !this.#hasDdlWatermarkNews || clock.monotonic_ms() - refreshed_ms >= poll_ms;
      [this.#hasNews, this.#hasDdlWatermarkNews] = [false, false];
      if (isDue) {
        refreshed_ms = clock.monotonic_ms();
        await this.refresh(signal);
      } else await this.#readJournalled(signal);
    }
  }

  async #readJournalled(signal: AbortSignal): Promise<void> {
    const record = await this.records.read(signal);
    if (record === null) throw stateVanished();
    this.#takeJournalled(record);
    this.#changed.changed();
  }

  #takeJournalled(record: MigrationRecord): void {
    const found = journalledBy(record);
    const before = this.#journalled;
    // Of a migration whose clusters were swapped in between everything begins anew, for whoever follows it from then on.
    if (found.migration !== before.migration && before.migration !== '') return;
    this.#journalled = {
      migration: found.migration,
      known: Math.max(before.known, found.known),
      done: Math.max(before.done, found.done),
      ddlWatermark:
        before.ddlWatermark === null || (found.ddlWatermark ?? 0n) > before.ddlWatermark
          ? found.ddlWatermark
          : before.ddlWatermark,
    };
  }

  #pause_ms(): number {
    const { record, tasks } = this.#view;
    const isRequested =
      record.phase === 'syncing' && [...tasks.values()].some(({ commitRequested }) => commitRequested);
    const isCommitting = isRequested || record.phase === 'committing' || record.phase === 'opening';
    return isCommitting ? Math.min(pollMin_ms, commitPollMin_ms * tasks.size) : pollMin_ms;
  }

  /** Resolves at the next news, or when it is time; rejects when the signal is aborted. */
  async #newsOrTime(signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const wake = (): void => waiting.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    await this.runtime.clock.sleep(poll_ms - pollMin_ms, waiting.signal).catch(() => undefined);
    signal.removeEventListener('abort', wake);
    signal.throwIfAborted();
  }
}

function journalledBy(record: MigrationRecord): { migration: string } & Journalled {
  const { known, done } = record.ddlChanges;
  return {
    migration: migrationName(record),
    known,
    done,
    ddlWatermark: record.ddlWatermark === null ? null : timeOf(record.ddlWatermark.time),
  };
}

function stateVanished(): ConvoyError {
  return new ConvoyError('destinationChanged', 'The state of the migration has vanished from the destination.');
}
