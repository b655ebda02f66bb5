import { Buffer } from 'node:buffer';
import type { RawValue } from '../bson/scan.js';
import type { ByteBudget } from '../store/byte-budget.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { Partition } from '../store/partition-table.js';

/** When capped copies that wait hold so much of the events' bound, what they can do without is forgotten: all else in it goes by itself. */
const heldFractionMax = 0.75;

/** What a capped copy has read. */
export interface CappedReading {
  /** The last copied document's `_id`; null when there was none. */
  last: RawValue | null;
  /** The shard's operation time at the end. */
  end: bigint;
}

/** Which of the changes of a capped collection its copy includes cannot be told. */
export class UncertainEnd extends Error {
  override readonly name = 'UncertainEnd';
}

/** What the end of a capped copy needs of the stream. */
export interface CappedEndDependencies {
  /** Counts what partitions hold; at its bound the stream is not read. */
  budget: ByteBudget;
  /** Resolves once the stream has been routed up to `time`, or the bound is reached; tells whether it was routed. */
  untilRoutedOrFull(time: bigint, signal: AbortSignal): Promise<boolean>;
}

/** A copy that waits for the stream. */
interface Waiting extends CappedReading {
  /** Inserts were forgotten before that of the last document was seen. */
  forgotten: boolean;
}

/**
 * Capped copies that have read everything and wait for the stream: until then they hold their events, and at the bound of
 * what is held the stream is not read. Their copies include the inserts before that of the last document, so that these
 * need not be held.
 */
export class CappedEnds {
  readonly #waiting = new Map<Partition, Waiting>();

  constructor(private readonly deps: CappedEndDependencies) {}

  /**
   * Resolves once everything up to the end of the reading was routed, and what the copy includes is no longer held.
   * @throws UncertainEnd when that cannot be told, or the changes that it does not include are too many to be held
   */
  async settle(partition: Partition, reading: CappedReading, signal: AbortSignal): Promise<void> {
    const waiting = { ...reading, forgotten: false };
    this.#waiting.set(partition, waiting);
    try {
      while (!(await this.deps.untilRoutedOrFull(reading.end, signal))) {
        this.#relieve();
        await this.deps.budget.untilFree(signal);
      }
    } finally {
      this.#waiting.delete(partition);
    }
    this.#dropCopied(partition, waiting);
  }

  #relieve(): void {
    if (!this.#holdsTooMuch()) return;
    for (const [partition, waiting] of this.#waiting) this.#forgetInserts(partition, waiting);
    if (this.#holdsTooMuch()) throw new UncertainEnd();
  }

  #holdsTooMuch(): boolean {
    let held_bytes = 0;
    for (const { buffered } of this.#waiting.keys()) for (const { bytes } of buffered) held_bytes += bytes;
    return held_bytes >= this.deps.budget.bytesMax * heldFractionMax;
  }

  /**
   * The stream is at events that the shard had long before the end of the reading: that their inserts are copied is assumed, and wrong
   * only when the insert of the last document does not come any more.
   */
  #forgetInserts(partition: Partition, waiting: Waiting): void {
    if (waiting.last === null) return;
    const ofLast = isOf(waiting);
    const insertOfLast = partition.buffered.findIndex((event) => event.operation === 'insert' && ofLast(event));
    const upTo = insertOfLast < 0 ? partition.buffered.length - 1 : insertOfLast;
    const dropped = this.#drop(partition, upTo, (event) => !ofLast(event));
    if (insertOfLast < 0 && dropped > 0) waiting.forgotten = true;
  }

  /**
   * Takes the inserts that the copy includes out of the held events; all of them have been routed by now. What came after
   * the end of the reading is not in it, even under the `_id` of the last copied document.
   */
  #dropCopied(partition: Partition, waiting: Waiting): void {
    if (waiting.last === null) return;
    const ofLast = isOf(waiting);
    const operations = partition.buffered.filter(ofLast).map(({ operation }) => operation);
    if (operations.includes('delete') || operations.filter((operation) => operation === 'insert').length > 1)
      throw new UncertainEnd();
    const insertOfLast = partition.buffered.findIndex((event) => event.operation === 'insert' && ofLast(event));
    if (insertOfLast < 0 && waiting.forgotten) throw new UncertainEnd();
    this.#drop(partition, insertOfLast, () => true);
  }

  /** Drops inserts up to a place, and what came of their `_id`s before: it was about other documents. @returns how many events */
  #drop(partition: Partition, upTo: number, isDropped: (event: ChangeEvent) => boolean): number {
    const { length } = partition.buffered;
    const insertedAt = new Map<string, number>();
    partition.buffered.forEach((event, index) => {
      if (event.operation === 'insert' && index <= upTo && isDropped(event)) insertedAt.set(idText(event.id), index);
    });
    partition.buffered = partition.buffered.filter((event, index) => {
      if (index > (insertedAt.get(idText(event.id)) ?? -1)) return true;
      // An attempt that is broken off has to include it in the next one.
      if (event.time > partition.dropped) partition.dropped = event.time;
      this.deps.budget.give(event.bytes);
      return false;
    });
    return length - partition.buffered.length;
  }
}

/** Whether an event is about the last copied document, or another one of its `_id`, before the reading has ended. */
function isOf({ last, end }: CappedReading): (event: ChangeEvent) => boolean {
  return ({ id, time }) =>
    last !== null && time <= end && id.type === last.type && Buffer.compare(id.bytes, last.bytes) === 0;
}

function idText({ type, bytes }: RawValue): string {
  return `${type}/${Buffer.from(bytes).toString('base64')}`;
}
