import { timeOf } from '../../../src/cluster/cluster-time.js';
import type { Journalled } from '../../../src/lifecycle/migration/migration-watch.js';
import type { DefinitionSource } from '../../../src/lifecycle/share/follow-definitions.js';
import { type Definition, DefinitionJournal } from '../../../src/store/definition-journal.js';
import type { Metadata } from '../../../src/store/metadata.js';
import { MigrationRecords } from '../../../src/store/migration-record.js';
import { Signalled } from '../../../src/store/signalled.js';
import type { Scheduler } from './scheduler.js';

const pause_ms = 50;

/** How one process hears of definition changes: late, from the record alone, and not of every step. */
export class JournalModel implements DefinitionSource {
  readonly #records: MigrationRecords;
  readonly #journal: DefinitionJournal;
  readonly #changed = new Signalled();
  #news: Journalled = { known: 0, done: 0, horizon: null };

  constructor(
    metadata: Metadata,
    private readonly scheduler: Scheduler,
  ) {
    this.#records = new MigrationRecords(metadata);
    this.#journal = new DefinitionJournal(metadata, this.#records);
  }

  /** The journal as a process finds it that has fenced its predecessor. */
  async begin(signal: AbortSignal): Promise<{ done: Definition[]; undone: Definition[]; position: { read: number; taken: number } }> {
    await this.#look(signal);
    const { known, done } = this.#news;
    const definitions = await this.#journal.readAfter(0, known, signal);
    return { done: definitions.slice(0, done), undone: definitions.slice(done), position: { read: known, taken: done } };
  }

  news(): Journalled {
    return this.#news;
  }

  until(condition: (news: Journalled) => boolean, signal: AbortSignal): Promise<void> {
    return this.#changed.until(() => condition(this.#news), signal);
  }

  readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<Definition[]> {
    return this.#journal.readAfter(ordinal, known, signal);
  }

  nudge(): void {
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
    const { known, done } = record.definitions;
    const stored = record.horizon === null ? null : timeOf(record.horizon.time);
    this.#tell({ known, done, horizon: this.scheduler.chance(0.5) ? stored : this.#news.horizon });
  }

  #tell(news: Journalled): void {
    this.#news = news;
    this.#changed.changed();
  }
}
