import type { DdlChange } from '../../store/ddl-journal.js';
import { runTogether } from '../../store/run-together.js';
import { Condition } from '../../store/condition.js';
import type { Journalled } from '../migration/migration-watch.js';
import type { SyncPipeline } from './sync-pipeline.js';

/** Where a share hears of definition changes. */
export interface DdlSource {
  /** As the record says, which is all that a share believes. */
  news(): Journalled;
  /** Resolves once the news are such as the condition asks for. */
  until(condition: (news: Journalled) => boolean, signal: AbortSignal): Promise<void>;
  /** The entries after an ordinal, up to another one, in order. */
  readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<DdlChange[]>;
  /** Tells the leader to look at the shares' records. */
  wake(): void;
}

/** Where a share's process begins in the journal. */
export interface JournalPosition {
  /** All entries up to here are known to the share. */
  read: number;
  /** The results of all entries up to here are taken over. */
  taken: number;
  /** Up to here the share's record consents. */
  acknowledged: number;
}

/**
 * Follows the definition journal for one share: lets go of what new entries are about before the horizon passes them,
 * consents once nothing of it is under way, and takes over what came of entries that are done.
 */
export class DdlFollower {
  #read: number;
  #taken: number;
  #acknowledged: number;
  readonly #readOn = new Condition();

  constructor(
    private readonly sync: Pick<SyncPipeline, 'ddlChanges' | 'setDdlWatermark' | 'acknowledge'>,
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

  /** The horizon counts only once the entries below it are heeded. */
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

  /** One consent stands for all entries up to it. */
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
