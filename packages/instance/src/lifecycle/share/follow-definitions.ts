import type { Definition } from '../../store/definition-journal.js';
import { runTogether } from '../../store/run-together.js';
import { Signalled } from '../../store/signalled.js';
import type { Journalled } from '../migration/migration-watch.js';
import type { ShareSync } from './share-sync.js';

/** Where a share hears of definition changes. */
export interface DefinitionSource {
  /** As the record says, which is all that a share believes. */
  news(): Journalled;
  /** Resolves once the news are such as the condition asks for. */
  until(condition: (news: Journalled) => boolean, signal: AbortSignal): Promise<void>;
  /** The entries after an ordinal, up to another one, in order. */
  readAfter(ordinal: number, known: number, signal: AbortSignal): Promise<Definition[]>;
  /** Tells the leader to look at the shares' records. */
  nudge(): void;
}

/** Where a share's process begins in the journal. */
export interface JournalPosition {
  /** All entries up to here are known to the share. */
  read: number;
  /** The results of all entries up to here are taken over. */
  taken: number;
  /** Up to here the share's record consents. */
  consented: number;
}

/**
 * Follows the definition journal for one share: lets go of what new entries are about before the horizon passes them,
 * consents once nothing of it is under way, and takes over what came of entries that are done.
 */
export class DefinitionFollower {
  #read: number;
  #taken: number;
  #consented: number;
  readonly #readOn = new Signalled();

  constructor(
    private readonly sync: Pick<ShareSync, 'definitions' | 'setHorizon' | 'consent'>,
    private readonly source: DefinitionSource,
    { read, taken, consented }: JournalPosition,
  ) {
    this.#read = read;
    this.#taken = taken;
    this.#consented = consented;
  }

  /** Works until the stop signal; rejects with the first failure. */
  async run(stop: AbortSignal): Promise<void> {
    await runTogether(stop, [(signal) => this.#readJournal(signal), (signal) => this.#answer(signal), (signal) => this.#takeOver(signal)]);
  }

  /** The horizon counts only once the entries below it are heeded. */
  async #readJournal(stop: AbortSignal): Promise<void> {
    let horizon = 0n;
    for (;;) {
      await this.source.until((news) => news.known > this.#read || (news.horizon ?? 0n) > horizon, stop);
      const { known, horizon: next } = this.source.news();
      if (known > this.#read) {
        this.sync.definitions.learn(await this.source.readAfter(this.#read, known, stop));
        this.#read = known;
        this.#readOn.changed();
      }
      if (next === null) continue;
      horizon = next;
      this.sync.setHorizon(horizon);
    }
  }

  /** One consent stands for all entries up to it. */
  async #answer(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.#readOn.until(() => this.#read > this.#consented, stop);
      const upTo = this.#read;
      await this.sync.definitions.quiet(stop);
      await this.sync.consent(upTo);
      this.#consented = upTo;
      this.source.nudge();
    }
  }

  async #takeOver(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.source.until(({ done }) => done > this.#taken, stop);
      const { done } = this.source.news();
      await this.#readOn.until(() => this.#read >= done, stop);
      for (const definition of await this.source.readAfter(this.#taken, done, stop)) {
        await this.sync.definitions.takeOver(definition, stop);
        this.#taken = definition.ordinal;
      }
    }
  }
}
