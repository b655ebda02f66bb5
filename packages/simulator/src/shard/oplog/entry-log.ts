import { timestampOf, type TimeKey } from '../storage/time-key.js';
import { operationBytes, type EntryTransaction, type OplogEntry, type OplogOperation, type TransactionPart } from './entry.js';

/** Cut-off places that are kept before the columns are copied, so that cutting stays cheap. */
const CUT_PLACES_MIN = 4096;

/** What an entry holds that is more than one operation outside of a transaction. */
interface Several {
  readonly kind: 'several';
  readonly operations: readonly OplogOperation[];
  readonly transaction: EntryTransaction | undefined;
  readonly part: TransactionPart | undefined;
}

/**
 * Entries by number, in columns: most are one operation at one time, and objects made for each of them would cost the
 * garbage collector more than the writes themselves. They are put together when somebody reads them.
 */
export class EntryLog {
  #times: number[] = [];
  #wallMs: number[] = [];
  #contents: (OplogOperation | Several | undefined)[] = [];
  #cut = 0;
  /** Number of the entry at the columns' first place. */
  #base = 0;

  /** Number of the entry after the last one. */
  get end(): number {
    return this.#base + this.#times.length;
  }

  /** Number of the oldest entry that is still there. */
  get start(): number {
    return this.#base + this.#cut;
  }

  /** @returns bytes of the entry, about */
  append(time: TimeKey, wallMs: number, operations: readonly OplogOperation[], transaction?: EntryTransaction, part?: TransactionPart): number {
    const [only] = operations;
    const alone = operations.length === 1 && transaction === undefined && part === undefined ? only : undefined;
    const content = alone ?? ({ kind: 'several', operations, transaction, part } as const);
    this.#times.push(time);
    this.#wallMs.push(wallMs);
    this.#contents.push(content);
    return contentBytes(content);
  }

  /** The entry with this number; undefined past the end and before the start. */
  at(number: number): OplogEntry | undefined {
    const place = number - this.#base;
    const content = this.#contents[place];
    const time = this.#times[place];
    if (content === undefined || time === undefined) return undefined;
    const { operations, transaction, part } = content.kind === 'several' ? content : { operations: [content], transaction: undefined, part: undefined };
    return { time, clusterTime: timestampOf(time), operations, transaction, part, bytes: contentBytes(content), wallMs: this.#wallMs[place] ?? 0 };
  }

  timeAt(number: number): TimeKey | undefined {
    return number < this.start ? undefined : this.#times[number - this.#base];
  }

  /** Wall clock in milliseconds at which the entry was written. */
  wallMsAt(number: number): number | undefined {
    return number < this.start ? undefined : this.#wallMs[number - this.#base];
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

  /**
   * Cuts off the oldest entry.
   * @returns its bytes
   */
  cutFirst(): number {
    const content = this.#contents[this.#cut];
    if (content === undefined) return 0;
    this.#contents[this.#cut] = undefined;
    this.#cut += 1;
    if (this.#cut >= CUT_PLACES_MIN && this.#cut * 2 > this.#times.length) this.#compact();
    return contentBytes(content);
  }

  #compact(): void {
    this.#times = this.#times.slice(this.#cut);
    this.#wallMs = this.#wallMs.slice(this.#cut);
    this.#contents = this.#contents.slice(this.#cut);
    this.#base += this.#cut;
    this.#cut = 0;
  }
}

function contentBytes(content: OplogOperation | Several): number {
  if (content.kind !== 'several') return operationBytes(content);
  let bytes = 0;
  for (const operation of content.part?.written ?? content.operations) bytes += operationBytes(operation);
  return bytes;
}
