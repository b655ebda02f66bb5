import { timeOf } from '../../../src/cluster/cluster-time.js';
import type { Journalled } from '../../../src/store/migration-watch.js';
import type { DdlSource } from '../../../src/lifecycle/task/task-ddl.js';
import { type DdlEntry, DdlJournal } from '../../../src/store/ddl-journal.js';
import type { Metadata } from '../../../src/store/metadata.js';
import { MigrationRecords } from '../../../src/store/migration-record.js';
import { Condition } from '../../../src/async/waiting.js';
import type { Scheduler } from './scheduler.js';

const pause_ms = 50;

/** How one process learns of DDL changes: late, from the record alone, and not of every step. */
export class JournalModel implements DdlSource {
  readonly #records: MigrationRecords;
  readonly #journal: DdlJournal;
  readonly #changed = new Condition();
  #news: Journalled = { known: 0, done: 0, ddlWatermark: null };

  constructor(
    metadata: Metadata,
    private readonly scheduler: Scheduler,
  ) {
    this.#records = new MigrationRecords(metadata);
    this.#journal = new DdlJournal(metadata, this.#records);
  }

  /** The journal, as a process finds it after it has fenced its predecessor. */
  async begin(
    signal: AbortSignal,
  ): Promise<{ done: DdlEntry[]; undone: DdlEntry[]; position: { read: number; taken: number } }> {
    await this.#look(signal);
    const { known, done } = this.#news;
    const ddlChanges = await this.#journal.readAfter(0, known, signal);
    return { done: ddlChanges.slice(0, done), undone: ddlChanges.slice(done), position: { read: known, taken: done } };
  }

  news(): Journalled {
    return this.#news;
  }

  until(condition: (news: Journalled) => boolean, signal: AbortSignal): Promise<void> {
    return this.#changed.until(() => condition(this.#news), signal);
  }

  readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<DdlEntry[]> {
    return this.#journal.readAfter(ordinal, known, signal);
  }

  wake(): void {
    this.#changed.changed();
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.scheduler.sleep(pause_ms, signal);
      await this.#look(signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const record = await this.#records.read(signal);
    if (record === null) throw new Error('no migration');
    const { known, done } = record.ddlChanges;
    const stored = record.ddlWatermark === null ? null : timeOf(record.ddlWatermark.time);
    this.#report({ known, done, ddlWatermark: this.scheduler.chance(0.5) ? stored : this.#news.ddlWatermark });
  }

  #report(news: Journalled): void {
    this.#news = news;
    this.#changed.changed();
  }
}
