import type { DdlChange } from '../../store/ddl-journal.js';
import { runTogether } from '../../async/together.js';
import { Condition } from '../../async/waiting.js';
import type { Journalled } from '../migration/migration-watch.js';
import type { SyncPipeline } from './sync-pipeline.js';

/** Where a sync task learns of DDL changes. */
export interface DdlSource {
  /** From the migration's record: a task trusts no other source. */
  news(): Journalled;
  /** Resolves once the known state fulfills the condition. */
  until(condition: (news: Journalled) => boolean, signal: AbortSignal): Promise<void>;
  /** The entries after an ordinal, up to another one, in order. */
  readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<DdlChange[]>;
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
