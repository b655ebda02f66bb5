import { runTogether } from '../store/run-together.js';
import { Signalled } from '../store/signalled.js';
import type { Partition, PartitionTable } from '../store/partition-table.js';
import { copyCapped } from './capped.js';
import type { CopyContext } from './copy-context.js';
import { copyPartition } from './copy-partition.js';

/** Copies all partitions of a share, several at once, those of the largest collections first. */
export class Copier {
  readonly #changed = new Signalled();
  readonly #claimed = new Set<Partition>();
  /** All tables before this one were done when it was looked for a waiting partition last. */
  #firstOpen = 0;

  /** @param tables in the order in which they are to be copied */
  constructor(
    private readonly tables: readonly PartitionTable[],
    private readonly context: CopyContext,
  ) {}

  get done(): boolean {
    return this.tables.every((table) => table.done);
  }

  /** Resolves once every partition is done; rejects with the first failure. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    const readers = Array.from({ length: this.context.readers }, () => (signal: AbortSignal) => this.#read(signal, hard));
    await runTogether(stop, readers);
  }

  async #read(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      const next = this.#claim();
      if (next === null) {
        if (this.done) return;
        await this.#changed.until(() => this.done || this.#waiting() !== null, stop);
        continue;
      }
      try {
        const copy = next.table.collection.capped ? copyCapped : copyPartition;
        await copy(next.table, next.partition, this.context, stop, hard);
      } finally {
        this.#claimed.delete(next.partition);
        this.#changed.changed();
      }
    }
  }

  #claim(): { table: PartitionTable; partition: Partition } | null {
    const next = this.#waiting();
    if (next !== null) this.#claimed.add(next.partition);
    return next;
  }

  #waiting(): { table: PartitionTable; partition: Partition } | null {
    while (this.tables[this.#firstOpen]?.done === true) this.#firstOpen += 1;
    const found = this.#waitingFrom(this.#firstOpen);
    if (found !== null || this.#firstOpen === 0) return found;
    // A partition of a table that was done may wait again.
    this.#firstOpen = 0;
    return this.#waitingFrom(0);
  }

  #waitingFrom(first: number): { table: PartitionTable; partition: Partition } | null {
    for (let index = first; index < this.tables.length; index += 1) {
      const table = this.tables[index];
      const partition = table?.partitions.find((each) => each.state === 'waiting' && !this.#claimed.has(each));
      if (table !== undefined && partition !== undefined) return { table, partition };
    }
    return null;
  }
}
