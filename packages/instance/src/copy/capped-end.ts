import { Buffer } from 'node:buffer';
import type { RawValue } from '../bson/scan.js';
import type { ByteBudget } from '../async/waiting.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { Partition } from '../store/partition.js';
import type { RoutedStream } from '../store/routed-stream.js';

/**
 * When waiting capped copies buffer this fraction of the budget, they drop the events that they do not need. All other
 * bytes in the budget are freed without their help.
 */
const bufferedFractionMax = 0.75;

/** What a capped copy has read. */
export interface CappedReading {
  /** The `_id` of the last copied document; null when there was none. */
  last: RawValue | null;
  /** The shard's operation time when the read ended. */
  end: bigint;
}

/** It is unknown which changes the copy of a capped collection includes. */
export class UncertainEnd extends Error {
  override readonly name = 'UncertainEnd';
}

/** A copy that waits for the stream. */
interface Waiting extends CappedReading {
  /** Inserts were dropped before the insert of the last document was seen. */
  hasDropped: boolean;
}

/**
 * Capped copies that have read everything and wait for the stream. Until then they buffer their events, and a full
 * budget stops the stream. A copy includes every insert before that of its last document, so these can be dropped.
 */
export class CappedEnds {
  readonly #waiting = new Map<Partition, Waiting>();

  /** @param budget counts the buffered events; while it is full, the stream is not read */
  constructor(
    private readonly budget: ByteBudget,
    private readonly stream: Pick<RoutedStream, 'untilRoutedOrFull'>,
  ) {}

  /**
   * Resolves once everything up to the end of the read is routed and the buffer holds only changes that the copy lacks.
   * @throws UncertainEnd when these changes are unknown, or too large for the budget
   */
  async settle(partition: Partition, reading: CappedReading, signal: AbortSignal): Promise<void> {
    const waiting = { ...reading, hasDropped: false };
    this.#waiting.set(partition, waiting);
    try {
      while (!(await this.stream.untilRoutedOrFull(reading.end, signal))) {
        this.#relieve();
        await this.budget.untilFree(signal);
      }
    } finally {
      this.#waiting.delete(partition);
    }
    this.#dropCopied(partition, waiting);
  }

  #relieve(): void {
    if (!this.#buffersTooMuch()) return;
    for (const [partition, waiting] of this.#waiting) this.#dropInserts(partition, waiting);
    if (this.#buffersTooMuch()) throw new UncertainEnd();
  }

  #buffersTooMuch(): boolean {
    let buffered_bytes = 0;
    for (const { buffered } of this.#waiting.keys()) for (const { bytes } of buffered) buffered_bytes += bytes;
    return buffered_bytes >= this.budget.bytesMax * bufferedFractionMax;
  }

  /**
   * The stream is far behind the end of the read, so the copy very likely includes these inserts. It does not only when
   * the insert of the last document never arrives; `#dropCopied` checks that.
   */
  #dropInserts(partition: Partition, waiting: Waiting): void {
    if (waiting.last === null) return;
    const ofLast = isOf(waiting);
    const insertOfLast = partition.buffered.findIndex((event) => event.operation === 'insert' && ofLast(event));
    const upTo = insertOfLast < 0 ? partition.buffered.length - 1 : insertOfLast;
    const dropped = this.#drop(partition, upTo, (event) => !ofLast(event));
    if (insertOfLast < 0 && dropped > 0) waiting.hasDropped = true;
  }

  /**
   * Drops the buffered inserts that the copy includes; all of them are routed. The copy includes nothing after the end
   * of the read, not even under the `_id` of the last copied document.
   */
  #dropCopied(partition: Partition, waiting: Waiting): void {
    if (waiting.last === null) return;
    const ofLast = isOf(waiting);
    const operations = partition.buffered.filter(ofLast).map(({ operation }) => operation);
    if (operations.includes('delete') || operations.filter((operation) => operation === 'insert').length > 1)
      throw new UncertainEnd();
    const insertOfLast = partition.buffered.findIndex((event) => event.operation === 'insert' && ofLast(event));
    if (insertOfLast < 0 && waiting.hasDropped) throw new UncertainEnd();
    this.#drop(partition, insertOfLast, () => true);
  }

  /**
   * Drops inserts up to an index, and all earlier events with their `_id`s, which belong to older documents.
   * @returns the number of dropped events
   */
  #drop(partition: Partition, upTo: number, isDropped: (event: ChangeEvent) => boolean): number {
    const insertedAt = new Map<string, number>();
    partition.buffered.forEach((event, index) => {
      if (event.operation === 'insert' && index <= upTo && isDropped(event)) insertedAt.set(idText(event.id), index);
    });
    const dropped = partition.dropBuffered((event, index) => index <= (insertedAt.get(idText(event.id)) ?? -1));
    for (const { bytes } of dropped) this.budget.give(bytes);
    return dropped.length;
  }
}

/** Matches events up to the end of the read with the `_id` of the last copied document. */
function isOf({ last, end }: CappedReading): (event: ChangeEvent) => boolean {
  return ({ id, time }) =>
    last !== null && time <= end && id.type === last.type && Buffer.compare(id.bytes, last.bytes) === 0;
}

function idText({ type, bytes }: RawValue): string {
  return `${type}/${Buffer.from(bytes).toString('base64')}`;
}
