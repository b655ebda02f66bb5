import type { ApplyWorkers } from '../../apply/apply-workers.js';
import type { EventDispatcher } from '../../apply/event-dispatcher.js';
import { runTogether } from '../../async/together.js';
import { Condition } from '../../async/waiting.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { Copier } from '../../copy/copier.js';
import type { Rereader } from '../../reread/rereader.js';
import type { DdlEntry } from '../../store/ddl-journal.js';
import type { RereadSet } from '../../store/reread-set.js';
import type { TaskStorage } from '../../store/task-storage.js';
import type { Journalled } from '../../store/migration-watch.js';
import type { UnknownCollections } from './apply-stage.js';
import type { CopyPlans } from './copy-plans.js';
import { type FollowedEntry, resultOf, type TaskTables } from './followed-collections.js';
import type { SyncPipeline } from './sync-pipeline.js';

/** Where a sync task learns of DDL changes. */
export interface DdlSource {
  /** From the migration's record: a task trusts no other source. */
  news(): Journalled;
  /** Resolves once the known state fulfills the condition. */
  until(condition: (news: Journalled) => boolean, signal: AbortSignal): Promise<void>;
  /** The entries after an ordinal, up to another one, in order. */
  readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<DdlEntry[]>;
  /** Wakes the leader to read the tasks' records. */
  wake(): void;
}

/** Where a task's process starts in the journal. */
export interface JournalPosition {
  /** The task knows all entries up to this ordinal. */
  read: number;
  /** The task has adopted the results of all entries up to this ordinal. */
  taken: number;
  /** The task's record acknowledges all entries up to this ordinal. */
  acknowledged: number;
}

/**
 * Follows the DDL journal for one sync task. It suspends the collections of new entries before the DDL watermark passes
 * them. It acknowledges an entry once nothing of those collections is in flight. It adopts the results of entries that
 * are done.
 */
export class DdlFollower {
  #read: number;
  #taken: number;
  #acknowledged: number;
  readonly #readOn = new Condition();

  constructor(
    private readonly sync: SyncPipeline,
    private readonly source: DdlSource,
    { read, taken, acknowledged }: JournalPosition,
  ) {
    this.#read = read;
    this.#taken = taken;
    this.#acknowledged = acknowledged;
  }

  /** Works until the stop signal; rejects with the first failure. */
  async run(stop: AbortSignal): Promise<void> {
    await runTogether(stop, [
      (signal) => this.#readJournal(signal),
      (signal) => this.#answer(signal),
      (signal) => this.#takeOver(signal),
    ]);
  }

  /** The DDL watermark counts only once the task has suspended the collections of the entries below it. */
  async #readJournal(stop: AbortSignal): Promise<void> {
    let ddlWatermark = 0n;
    for (;;) {
      await this.source.until((news) => news.known > this.#read || (news.ddlWatermark ?? 0n) > ddlWatermark, stop);
      const { known, ddlWatermark: next } = this.source.news();
      if (known > this.#read) {
        this.sync.ddlChanges.learn(await this.source.readAfter(this.#read, known, stop));
        this.#read = known;
        this.#readOn.changed();
      }
      if (next === null) continue;
      ddlWatermark = next;
      this.sync.setDdlWatermark(ddlWatermark);
    }
  }

  /** One acknowledgement stands for all entries up to it. */
  async #answer(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.#readOn.until(() => this.#read > this.#acknowledged, stop);
      const upTo = this.#read;
      await this.sync.ddlChanges.quiet(stop);
      await this.sync.acknowledge(upTo);
      this.#acknowledged = upTo;
      this.source.wake();
    }
  }

  async #takeOver(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.source.until(({ done }) => done > this.#taken, stop);
      const { done } = this.source.news();
      await this.#readOn.until(() => this.#read >= done, stop);
      for (const ddlChange of await this.source.readAfter(this.#taken, done, stop)) {
        await this.sync.ddlChanges.takeOver(ddlChange, stop);
        this.#taken = ddlChange.ordinal;
      }
    }
  }
}

/** The stages of a sync task that DDL changes concern. */
export interface DdlStages {
  followed: TaskTables;
  unknown: UnknownCollections;
  applyWorkers: ApplyWorkers;
  copier: Copier;
  rereader: Rereader;
  rereads: RereadSet;
  storage: TaskStorage;
  undone: UndoneEntries;
  plans: CopyPlans;
  dispatcher: EventDispatcher;
}

/** The entries of the DDL journal that a task knows and that are not done: their collections are suspended. */
export class UndoneEntries {
  #entries: readonly DdlEntry[] = [];

  /** Whether writes to a collection are suspended until an entry about it is done. */
  isSuspended(uuid: string): boolean {
    return this.#entries.some((ddlChange) => ddlChange.uuid === uuid || ddlChange.droppedUuid === uuid);
  }

  /** Whether all known entries up to a time are done. */
  doneUpTo(time: bigint): boolean {
    return this.#entries.every((ddlChange) => timeOf(ddlChange.time) > time);
  }

  /** The suspended collections. */
  get uuids(): ReadonlySet<string> {
    return new Set(this.#entries.flatMap(uuidsOf));
  }

  add(ddlChanges: readonly DdlEntry[]): void {
    this.#entries = [...this.#entries, ...ddlChanges];
  }

  remove(done: DdlEntry): void {
    this.#entries = this.#entries.filter(({ ordinal }) => ordinal !== done.ordinal);
  }
}

/**
 * Handles the entries of the DDL journal for a sync task. It suspends the collections of an undone entry, reports when
 * nothing of them is in flight, and adopts the entry's result. Other collections continue meanwhile.
 */
export class TaskDdl {
  constructor(private readonly stages: DdlStages) {}

  /** Suspends the collections of new entries, synchronously. */
  learn(ddlChanges: readonly DdlEntry[]): void {
    this.stages.undone.add(ddlChanges);
    for (const uuid of ddlChanges.flatMap(uuidsOf)) this.#suspend(uuid);
  }

  /** Resolves once nothing is in flight of the collections that were suspended before the call. */
  async quiet(signal: AbortSignal): Promise<void> {
    const { copier, applyWorkers, rereader, undone } = this.stages;
    for (const uuid of undone.uuids) {
      await copier.quiet(uuid, signal);
      await applyWorkers.answered(uuid, signal);
      await rereader.quiet(uuid, signal);
    }
  }

  /** Adopts the result of an entry that is done. Entries are adopted in order. */
  async takeOver(ddlChange: DdlEntry, signal: AbortSignal): Promise<void> {
    const { followed, unknown, undone } = this.stages;
    const { ended, started, renamed } = resultOf(ddlChange);
    for (const uuid of ended) await this.#forget(uuid);
    if (renamed !== null) followed.rename(renamed);
    if (started !== null) await this.#begin(started, signal);
    followed.know(ddlChange.uuid);
    unknown.resolve(ddlChange.uuid);
    undone.remove(ddlChange);
    for (const uuid of uuidsOf(ddlChange)) if (!undone.isSuspended(uuid)) this.#resume(uuid);
  }

  /**
   * Starts to copy a collection, if the task has a part in it. No read may be earlier than the latest routed event:
   * the events up to it were dropped.
   */
  async #begin(started: FollowedEntry, signal: AbortSignal): Promise<void> {
    const { followed, copier, storage, plans, dispatcher } = this.stages;
    const task = plans.taskOf(started);
    if (task === null) return;
    await storage.claimCopies([task.copy]);
    const table = await plans.fresh(task, signal);
    for (const partition of table.partitions) partition.raiseDropped(dispatcher.latest);
    followed.add(task, table);
    copier.add(table);
  }

  #suspend(uuid: string): void {
    this.stages.applyWorkers.park(uuid);
    this.stages.copier.suspend(uuid);
    this.stages.rereader.suspend(uuid);
  }

  #resume(uuid: string): void {
    this.stages.applyWorkers.resume(uuid);
    this.stages.copier.resume(uuid);
  }

  /** Its events find no collection from here on; its stored state is deleted last. */
  async #forget(uuid: string): Promise<void> {
    const { followed, applyWorkers, copier, rereads, storage } = this.stages;
    const task = followed.taskOf(uuid);
    const table = followed.tables.get(uuid);
    followed.know(uuid);
    followed.remove(uuid);
    applyWorkers.forget(uuid);
    if (table !== undefined) copier.remove(table);
    await rereads.forget(uuid);
    // A removal in flight, as of a range that was just given up, would not find what it writes to.
    await table?.saved();
    if (task !== null) await storage.forgetCopy(task.copy);
  }
}

function uuidsOf({ uuid, droppedUuid }: DdlEntry): string[] {
  return droppedUuid === null ? [uuid] : [uuid, droppedUuid];
}
