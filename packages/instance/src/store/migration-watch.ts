import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { Clock } from '../async/clock.js';
import { Condition, untilFirst } from '../async/waiting.js';
import { timeOf } from '../cluster/cluster-time.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { Logger } from '../logging/logger.js';
import { Metadata } from './metadata.js';
import { type MigrationRecord, MigrationRecords, missingState } from './migration-record.js';
import { swapsOf } from './reversal.js';
import type { TaskRecord, TaskRecords } from './task-record.js';
import { migrationName, type MigrationView } from './migration-view.js';

/** How far the leader knows and has applied the source's DDL changes, from the migration's record. */
export interface Journalled {
  /** Largest ordinals: of the journal entries that count, and of those among them that are done. */
  known: number;
  done: number;
  /** The entries that count include all DDL changes below this cluster time; null before the first DDL watermark. */
  ddlWatermark: bigint | null;
}

/** Without news from peers, the watch reads the state this often: two small reads. */
const poll_ms = 1000;
/** DDL watermarks may come dozens of times a second; reading more often than this gains nothing. */
const pollMin_ms = 150;
/**
 * The same for each sync task when a peer has changed the state, and for DDL watermarks during a commit, which waits
 * for them. A fleet of any size then causes the same read load. A small fleet, whose steps take no longer than this,
 * reads at once.
 */
const wakePollMin_ms = 10;
/** The instances of a large fleet together read the record at most 1,000 times a second for notifications. */
const recordReadInterval_ms = 1;
/**
 * Together they read at most this many task records a second besides their own and the leader's: when each reads all,
 * the number grows with the square of the fleet.
 */
const taskRecordsPerSecond = 20_000;

/**
 * Keeps the migration's durable state in memory. Barriers of the fleet are conditions on this state. Only the metadata
 * database decides. Messages of the fleet say when to read, and the pauses bound how often that happens.
 */
export class MigrationWatch {
  readonly #changed = new Condition();
  #view: MigrationView;
  /** State of the migration with this start time; the view never goes back. */
  #journalled: { migration: string } & Journalled;
  #wake: () => void = () => undefined;
  /** The state, or only the DDL watermark and ordinals, may have changed since the last read began. */
  #hasNews = false;
  #hasDdlWatermarkNews = false;
  /** When the last read of all tasks began. */
  #allReadAt_ms = -Infinity;
  #refreshesStarted = 0;
  #refreshShown = 0;

  /** @param ownIds tasks of this process */
  constructor(
    private readonly records: MigrationRecords,
    private readonly tasks: TaskRecords,
    private readonly fleet: Fleet,
    private readonly runtime: { clock: Clock },
    initial: MigrationView,
    private readonly ownIds: readonly string[],
  ) {
    this.#view = initial;
    this.#journalled = journalledBy(initial.record);
  }

  get view(): MigrationView {
    return this.#view;
  }

  /** How far DDL changes are known and applied; read more often than the view. */
  get journalled(): Journalled {
    return this.#journalled;
  }

  /** Resolves with the view once the condition holds for it, or for `journalled`. */
  async until(condition: (view: MigrationView) => boolean, signal: AbortSignal): Promise<MigrationView> {
    await this.#changed.until(() => condition(this.#view), signal);
    return this.#view;
  }

  /** Reads the state now. Of several concurrent reads, the one that began last wins: the view never goes back. */
  async refresh(signal: AbortSignal): Promise<MigrationView> {
    const turn = (this.#refreshesStarted += 1);
    this.#allReadAt_ms = this.runtime.clock.monotonic_ms();
    const [record, tasks] = await Promise.all([this.#read(signal), this.tasks.readAll(signal)]);
    return this.#show(turn, record, tasks);
  }

  /** Reads the record and the own tasks. After a change of phase or direction it reads the others' too. */
  async #refreshOwn(signal: AbortSignal): Promise<MigrationView> {
    const turn = (this.#refreshesStarted += 1);
    const [record, own] = await Promise.all([this.#read(signal), this.tasks.readSome(this.ownIds, signal)]);
    const before = this.#view.record;
    if (record.phase !== before.phase || swapsOf(record) !== swapsOf(before)) return this.refresh(signal);
    return this.#show(turn, record, [...this.#view.tasks.values(), ...own]);
  }

  /** @throws ConvoyError `staleEpoch` once the record is that of a later migration: this one was cleaned up */
  async #read(signal: AbortSignal): Promise<MigrationRecord> {
    const record = await this.records.read(signal);
    if (record === null) throw missingState();
    if (record.firstEpoch !== this.#view.record.firstEpoch)
      throw new ConvoyError('staleEpoch', 'This migration was cleaned up, and another one has begun.');
    return record;
  }

  #show(turn: number, record: MigrationRecord, tasks: readonly TaskRecord[]): MigrationView {
    if (turn < this.#refreshShown) return this.#view;
    this.#refreshShown = turn;
    this.#view = { record, tasks: new Map(tasks.map((task) => [task._id, task])) };
    this.#takeJournalled(record);
    this.#changed.changed();
    return this.#view;
  }

  /** Whether the tasks of others may be read: always for the leader, whose barriers they are. */
  #mayReadAll(): boolean {
    const { size } = this.#view.tasks;
    const gap_ms = Math.floor((size * size * 1_000) / taskRecordsPerSecond);
    return this.fleet.isLeader() || this.runtime.clock.monotonic_ms() - this.#allReadAt_ms >= gap_ms;
  }

  /** Reads repeatedly until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const unwatch = this.fleet.watch((news) => {
      // An instance that changes the state sends `wake`. Reports arrive all the time and do not announce a change.
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

  /** Keeps the view current while some work lasts. */
  async runWhile(work: (signal: AbortSignal) => Promise<unknown>, stop: AbortSignal): Promise<void> {
    const over = new AbortController();
    const watching = this.run(AbortSignal.any([stop, over.signal])).catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    await Promise.race([work(stop).finally(() => over.abort()), watching]);
  }

  /**
   * DDL watermarks arrive several times a second at all instances: one small read keeps them cheap in a large fleet.
   */
  async #look(signal: AbortSignal): Promise<never> {
    const { clock } = this.runtime;
    const isWoken = () => this.#hasNews;
    const hasAny = () => this.#hasNews || this.#hasDdlWatermarkNews;
    for (let refreshed_ms = clock.monotonic_ms(); ;) {
      const pause_ms = this.#pause_ms();
      await clock.sleep(pause_ms, signal);
      if (!this.#isCommitting) await this.#newsOrTime(isWoken, pollMin_ms - pause_ms, signal);
      await this.#newsOrTime(hasAny, poll_ms - pollMin_ms, signal);
      const isDue = this.#hasNews || !this.#hasDdlWatermarkNews || clock.monotonic_ms() - refreshed_ms >= poll_ms;
      [this.#hasNews, this.#hasDdlWatermarkNews] = [false, false];
      if (isDue) {
        refreshed_ms = clock.monotonic_ms();
        await (this.#mayReadAll() ? this.refresh(signal) : this.#refreshOwn(signal));
      } else await this.#readJournalled(signal);
    }
  }

  async #readJournalled(signal: AbortSignal): Promise<void> {
    const record = await this.#read(signal);
    this.#takeJournalled(record);
    this.#changed.changed();
  }

  #takeJournalled(record: MigrationRecord): void {
    const found = journalledBy(record);
    const before = this.#journalled;
    // If the clusters were swapped in between, the follower of the other direction starts over.
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

  /** From the command to commit on, until the destination is open. */
  get #isCommitting(): boolean {
    const { record, tasks } = this.#view;
    const isRequested =
      record.phase === 'syncing' && [...tasks.values()].some(({ commitRequested }) => commitRequested);
    return isRequested || record.phase === 'committing' || record.phase === 'opening';
  }

  #pause_ms(): number {
    const { size } = this.#view.tasks;
    const pause_ms = Math.min(pollMin_ms, wakePollMin_ms * size);
    return this.fleet.isLeader() ? pause_ms : Math.max(pause_ms, recordReadInterval_ms * size);
  }

  /** Resolves at such news, or when the pause is over; rejects when the signal aborts. */
  async #newsOrTime(isNews: () => boolean, pause_ms: number, signal: AbortSignal): Promise<void> {
    if (isNews() || pause_ms <= 0) return;
    const waiting = new AbortController();
    const end = () => waiting.abort();
    this.#wake = () => {
      if (isNews()) end();
    };
    signal.addEventListener('abort', end, { once: true });
    await this.runtime.clock.sleep(pause_ms, waiting.signal).catch(() => undefined);
    signal.removeEventListener('abort', end);
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

/** Waits until a condition holds for the state, or until the time has passed. Rejects when the signal aborts. */
export async function untilOrFor(
  { watch, runtime }: { watch: MigrationWatch; runtime: { clock: Clock } },
  condition: (view: MigrationView) => boolean,
  longest_ms: number,
  signal: AbortSignal,
): Promise<void> {
  await untilFirst([(each) => watch.until(condition, each), (each) => runtime.clock.sleep(longest_ms, each)], signal);
}

/** Pause between two looks: a committed process has nothing else to do, and a cleanup is not urgent news. */
const look_ms = 5_000;

/**
 * Whether the metadata of a committed migration is gone: a cleanup has removed it, and perhaps another migration is
 * recorded in its place. Nothing depends on it any more, but progress says so.
 */
export class MetadataRemoval {
  #isRemoved = false;

  /** @param home router or replica set of the cluster with the metadata */
  constructor(
    private readonly home: NodeClient,
    private readonly runtime: { clock: Clock; logger: Logger },
    private readonly migration: MigrationWatch,
  ) {}

  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Looks again and again once the migration is committed; never rejects, and ends with the signal. */
  async watch(signal: AbortSignal): Promise<void> {
    const { runtime } = this;
    try {
      await this.migration.until(({ record }) => record.phase === 'committed', signal);
      do await runtime.clock.sleep(look_ms, signal);
      while (!(await this.#look(signal)));
    } catch {
      return;
    }
    this.#isRemoved = true;
    runtime.logger.info({ event: 'metadataRemoved' }, 'the metadata of the committed migration is gone');
  }

  /** A look that fails is repeated without a warning: the destination may be away for good. */
  async #look(signal: AbortSignal): Promise<boolean> {
    const records = new MigrationRecords(new Metadata(this.home, (_what, operation) => operation()));
    try {
      const found = await records.read(signal);
      return found === null || isOther(found, this.migration.view.record);
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

/** A reverse of the same migration has more turns. */
function isOther(found: MigrationRecord, shown: MigrationRecord): boolean {
  return swapsOf(found) <= swapsOf(shown) && migrationName(found) !== migrationName(shown);
}
