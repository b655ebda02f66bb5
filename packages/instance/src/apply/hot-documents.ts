import { createHmac, randomBytes } from 'node:crypto';
import type { HotDocument as ReportedHotDocument } from '@convoy/api/contract/hot-documents';
import { idClass } from '../bson/id.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import type { Clock } from '../async/clock.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { BatchItem, RoutedEvent, WriteBatch } from './write-batch.js';

/** A document that changes more often than its apply worker sends batches. */
export interface HotDocument extends ReportedHotDocument {
  uuid: string;
  /** Null for a long `_id`. */
  id: RawValue | null;
}

/** Changes are counted for this long, then judged. */
const interval_ms = 2_000;
/** A document with fewer changes per second is not hot, however few others there are. */
const changesPerSecondMin = 20;
/** Changes per batch from which on a worker could not follow without folding. */
const changesPerBatchMin = 2;
/** Part of the worker's changes. */
const partMin = 0.05;
/** Documents that are counted at a time; those not seen for longest make room. */
const countedMax = 200;
/** Longer `_id`s are not kept. */
const idBytesMax = 1_024;
/** Batches that are remembered for what ended them. */
const batchesMax = 64;
/** Of those, batches that one document ended: from then on it is re-read instead. */
const endingsMax = 4;

interface Counted {
  collection: SyncedCollection;
  id: RawValue | null;
  document: string;
  changes: number;
  isReread: boolean;
}

/** Different in every process: nobody can try `_id`s against the names of documents. */
const key = randomBytes(32);

/**
 * The hot documents of one apply worker. Most of their changes fold into one statement for each batch. A document whose
 * changes do not fold ends batch after batch, and all others wait with it: `isReread` is true for it.
 */
export class HotDocuments {
  readonly #counted = new Map<string, Counted>();
  #from_ms: number;
  #batches = 0;
  #changes = 0;
  #hot: HotDocument[] = [];
  /** What ended the latest batches: a document, or nothing that matters. */
  readonly #endings: (string | null)[] = [];
  readonly #endedBy = new Map<string, number>();

  constructor(private readonly clock: Pick<Clock, 'monotonic_ms'>) {
    this.#from_ms = clock.monotonic_ms();
  }

  /** Counts a batch's changes. @param endedBy the event that did not fold into the statement of its document */
  composed({ items, events }: Pick<WriteBatch, 'items' | 'events'>, endedBy: RoutedEvent | null): void {
    this.#end(endedBy === null ? null : keyOf(endedBy));
    this.#judgeWhenDue();
    this.#batches += 1;
    this.#changes += events.length;
    for (const item of items) {
      const isMany = item.changes >= changesPerBatchMin && item.changes >= partMin * events.length;
      if (isMany) this.#count(item, item.changes, false);
      else if (this.#counted.size > 0) this.#add(keyOf(item), item.changes);
    }
  }

  /** Counts a change that a re-read of its document includes. */
  reread({ event: { id }, collection, workerClass }: RoutedEvent): void {
    this.#count({ id, collection, workerClass }, 1, true);
  }

  /** Whether changes of the event's document keep ending batches: a re-read includes any number of them. */
  isReread(routed: RoutedEvent): boolean {
    if (this.#endedBy.size === 0 || routed.collection.capped) return false;
    return (this.#endedBy.get(keyOf(routed)) ?? 0) >= endingsMax && isOneDocument(routed.event.id, routed);
  }

  /** The hot documents of the last interval that is over. */
  read(): HotDocument[] {
    this.#judgeWhenDue();
    return this.#hot;
  }

  #end(by: string | null): void {
    if (by === null && this.#endedBy.size === 0) return;
    this.#endings.push(by);
    if (by !== null) this.#endedBy.set(by, (this.#endedBy.get(by) ?? 0) + 1);
    const forgotten = this.#endings.length > batchesMax ? this.#endings.shift() : null;
    if (forgotten === null || forgotten === undefined) return;
    const left = (this.#endedBy.get(forgotten) ?? 0) - 1;
    if (left > 0) this.#endedBy.set(forgotten, left);
    else this.#endedBy.delete(forgotten);
  }

  #count(item: Pick<BatchItem, 'id' | 'collection' | 'workerClass'>, changes: number, isReread: boolean): void {
    const name = keyOf(item);
    if (this.#add(name, changes, isReread) || !isOneDocument(item.id, item)) return;
    const { id, collection } = item;
    const [eldest] = this.#counted.size < countedMax ? [] : this.#counted.keys();
    if (eldest !== undefined) this.#counted.delete(eldest);
    const kept = id.bytes.length <= idBytesMax ? ownedValue(id) : null;
    this.#counted.set(name, { collection, id: kept, document: nameOf(id, collection), changes, isReread });
  }

  /** @returns false for a document that is not counted */
  #add(name: string, changes: number, isReread = false): boolean {
    const counted = this.#counted.get(name);
    if (counted === undefined) return false;
    counted.changes += changes;
    counted.isReread ||= isReread;
    this.#counted.delete(name);
    this.#counted.set(name, counted);
    return true;
  }

  #judgeWhenDue(): void {
    const now_ms = this.clock.monotonic_ms();
    const passed_ms = now_ms - this.#from_ms;
    if (passed_ms < interval_ms) return;
    const seconds = passed_ms / 1000;
    this.#hot = [...this.#counted.values()]
      .filter((counted) => this.#isHot(counted, seconds))
      .map((counted) => ({
        uuid: counted.collection.uuid,
        namespace: `${counted.collection.database}.${counted.collection.name}`,
        document: counted.document,
        changesPerSecond: Math.round(counted.changes / seconds),
        workerPercent: Math.min(100, Math.round((100 * counted.changes) / this.#changes)),
        appliedBy: counted.isReread ? ('rereading' as const) : ('folding' as const),
        id: counted.id,
      }));
    this.#counted.clear();
    [this.#from_ms, this.#batches, this.#changes] = [now_ms, 0, 0];
  }

  #isHot({ changes }: Counted, seconds: number): boolean {
    return (
      changes >= changesPerSecondMin * seconds &&
      changes >= changesPerBatchMin * this.#batches &&
      changes >= partMin * this.#changes
    );
  }
}

function keyOf({ collection, workerClass }: Pick<BatchItem, 'collection' | 'workerClass'>): string {
  return `${collection.uuid}/${workerClass}`;
}

/** Under a collation all `_id`s with a string are one id class. */
function isOneDocument(
  id: RawValue,
  { collection, workerClass }: Pick<BatchItem, 'collection' | 'workerClass'>,
): boolean {
  return !collection.collated || idClass(id, false) === workerClass;
}

/** A name for a document that says nothing of its `_id`. */
function nameOf({ type, bytes }: RawValue, { uuid }: SyncedCollection): string {
  return createHmac('sha256', key).update(uuid).update(Uint8Array.of(type)).update(bytes).digest('hex').slice(0, 12);
}
