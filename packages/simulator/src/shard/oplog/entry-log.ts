import { timestampOf, type TimeKey } from '../storage/time-key.js';
import {
  insertBytes,
  operationBytes,
  type EntryNamespace,
  type EntryTransaction,
  type OplogEntry,
  type OplogOperation,
  type TransactionPart,
} from './entry.js';

/** Truncated places before the columns are copied, so that truncation stays cheap. */
const CUT_PLACES_MIN = 4096;

/** The content of an entry other than one operation outside of a transaction. */
interface Several {
  readonly kind: 'several';
  readonly operations: readonly OplogOperation[];
  readonly transaction: EntryTransaction | undefined;
  readonly part: TransactionPart | undefined;
}

/** A document represents its insert. */
type Content = OplogOperation | Several | Uint8Array;

/**
 * Entries by number, in columns. Most are one operation at one time, and an object for each would cost the garbage
 * collector more than the writes themselves. Reads build the objects.
 */
export class EntryLog {
  #times: number[] = [];
  #wallMs: number[] = [];
  #contents: (Content | undefined)[] = [];
  /** Places of the inserted documents. */
  #targets: (EntryNamespace | undefined)[] = [];
  #cut = 0;
  /** Number of the entry at the columns' first place. */
  #base = 0;

  /** Number of the entry after the last one. */
  get end(): number {
    return this.#base + this.#times.length;
  }

  /** Number of the oldest remaining entry. */
  get start(): number {
    return this.#base + this.#cut;
  }

  /** @returns approximate bytes of the entry */
  append(
    time: TimeKey,
    wallMs: number,
    operations: readonly OplogOperation[],
    transaction?: EntryTransaction,
    part?: TransactionPart,
  ): number {
    const [only] = operations;
    const alone = operations.length === 1 && transaction === undefined && part === undefined ? only : undefined;
    if (alone !== undefined) return this.appendOne(time, wallMs, alone);
    const content: Several = { kind: 'several', operations, transaction, part };
    this.#push(time, wallMs, content, undefined);
    return contentBytes(content);
  }

  /** @returns approximate bytes of the entry */
  appendOne(time: TimeKey, wallMs: number, operation: OplogOperation): number {
    if (operation.kind === 'insert') return this.appendInsert(time, wallMs, operation.target, operation.document);
    this.#push(time, wallMs, operation, undefined);
    return operationBytes(operation);
  }

  /** @returns approximate bytes of the entry */
  appendInsert(time: TimeKey, wallMs: number, target: EntryNamespace, document: Uint8Array): number {
    this.#push(time, wallMs, document, target);
    return insertBytes(document);
  }

  #push(time: TimeKey, wallMs: number, content: Content, target: EntryNamespace | undefined): void {
    this.#times.push(time);
    this.#wallMs.push(wallMs);
    this.#contents.push(content);
    this.#targets.push(target);
  }

  /** The entry with this number. Undefined past the end and before the start. */
  at(number: number): OplogEntry | undefined {
    const place = number - this.#base;
    const content = this.#contents[place];
    const time = this.#times[place];
    if (content === undefined || time === undefined) return undefined;
    const clusterTime = timestampOf(time);
    const bytes = contentBytes(content);
    const wallMs = this.#wallMs[place] ?? 0;
    if (!(content instanceof Uint8Array) && content.kind === 'several') {
      const { operations, transaction, part } = content;
      return { time, clusterTime, operations, transaction, part, bytes, wallMs };
    }
    const operation: OplogOperation =
      content instanceof Uint8Array
        ? { kind: 'insert', target: this.#targets[place] as EntryNamespace, document: content }
        : content;
    return { time, clusterTime, operations: [operation], transaction: undefined, part: undefined, bytes, wallMs };
  }

  timeAt(number: number): TimeKey | undefined {
    return number < this.start ? undefined : this.#times[number - this.#base];
  }

  /** Number of the first entry at or after a time. */
  firstAtOrAfter(time: TimeKey): number {
    let low = this.#cut;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#times[middle] as number) < time) low = middle + 1;
      else high = middle;
    }
    return this.#base + low;
  }

  /** Truncates the oldest entry. @returns its bytes */
  cutFirst(): number {
    const content = this.#contents[this.#cut];
    if (content === undefined) return 0;
    this.#contents[this.#cut] = undefined;
    this.#targets[this.#cut] = undefined;
    this.#cut += 1;
    if (this.#cut >= CUT_PLACES_MIN && this.#cut * 2 > this.#times.length) this.#compact();
    return contentBytes(content);
  }

  #compact(): void {
    this.#times = this.#times.slice(this.#cut);
    this.#wallMs = this.#wallMs.slice(this.#cut);
    this.#contents = this.#contents.slice(this.#cut);
    this.#targets = this.#targets.slice(this.#cut);
    this.#base += this.#cut;
    this.#cut = 0;
  }
}

function contentBytes(content: Content): number {
  if (content instanceof Uint8Array) return insertBytes(content);
  if (content.kind !== 'several') return operationBytes(content);
  let bytes = 0;
  for (const operation of content.part?.written ?? content.operations) bytes += operationBytes(operation);
  return bytes;
}
