import { createHmac, randomBytes } from 'node:crypto';
import type { HotDocument as ReportedHotDocument } from '@convoy/api/contract/hot-documents';
import { shownName } from '../cluster/time-series.js';
import type { Clock } from '../async/clock.js';
import type { ByteBudget } from '../async/waiting.js';
import { idClass } from '../bson/id.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { RereadEntry, RereadRequest, RereadSet } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { type Action, actionOf, foldActions, removalOf, type ReplayBounds } from './action.js';

/** An event on its way to an apply worker. */
export interface RoutedEvent {
  event: ChangeEvent;
  collection: SyncedCollection;
  /** The id class: equal for `_id`s that the `_id` index finds equal. Events of one class keep their order. */
  workerClass: string;
  bounds: ReplayBounds;
  purpose: EventPurpose;
}

/**
 * `remove`: the event belongs to a dirty partition and removes the document under its key. `reread`: it belongs to a
 * partition that is copied in record order, where a document that changes meanwhile is re-read.
 */
export type EventPurpose = 'apply' | 'remove' | 'reread';

/** Waiting events, in order. */
export interface WaitingEvents extends Iterable<RoutedEvent> {
  drop(count: number): void;
}

/** One document's statement in a batch. */
export interface BatchItem {
  collection: SyncedCollection;
  id: ChangeEvent['id'];
  workerClass: string;
  /** Time of the latest event folded into it. */
  time: bigint;
  /** Number of events folded into it. */
  changes: number;
  action: Action;
}

/** Statements for different documents, sent unordered and concurrently. */
export interface WriteBatch {
  items: BatchItem[];
  events: RoutedEvent[];
  /** Earliest and latest event time. */
  first: bigint;
  last: bigint;
  /** Resolves once the requests of events without exact action are durable in the re-read set. */
  rereadRequestsDurable: Promise<void>;
}

/** Other tools find no gain in larger bulks, and a crash repeats a whole batch. */
const batchItemsMax = 1000;
/** Far below the 48 MB of one message. */
const batchBytesMax = 8 * 1024 * 1024;

/** Updates of a hot document that do not fold. */
const hotReread = { kind: 'reread', reason: 'hotDocument' } as const;
/** The document may be in no piece of its scan in record order, in two, or in one that is older than the event. */
const recordOrderReread = { kind: 'reread', reason: 'recordOrder' } as const;

interface BatchDependencies {
  rereads: RereadSet;
  budget: ByteBudget;
  hot: HotDocuments;
}

/** The statements of a batch by collection and id class. */
class BatchItems {
  readonly #byCollection = new Map<SyncedCollection, Map<string, BatchItem>>();
  #last: { collection: SyncedCollection; items: Map<string, BatchItem> } | null = null;
  size = 0;

  /** The statements of one collection, by id class. */
  of(collection: SyncedCollection): Map<string, BatchItem> {
    if (this.#last?.collection === collection) return this.#last.items;
    const items = this.#byCollection.get(collection) ?? new Map<string, BatchItem>();
    this.#byCollection.set(collection, items);
    this.#last = { collection, items };
    return items;
  }

  all(): BatchItem[] {
    return [...this.#byCollection.values()].flatMap((items) => [...items.values()]);
  }
}

/**
 * Takes events from the head of a queue and folds them into a batch with at most one statement per id class.
 * The re-read set absorbs events of its documents; an event without exact action adds its document to the set.
 */
export function composeBatch(queue: WaitingEvents, deps: BatchDependencies): WriteBatch {
  const items = new BatchItems();
  const batch: WriteBatch = { items: [], events: [], first: 0n, last: 0n, rereadRequestsDurable: Promise.resolve() };
  const rereadRequests: RereadEntry[] = [];
  let bytes = 0;
  let taken = 0;
  let endedBy: RoutedEvent | null = null;
  for (const routed of queue) {
    if (items.size >= batchItemsMax || bytes >= batchBytesMax) break;
    const reread = addTo(batch, routed, items, deps);
    if (reread === 'later') {
      endedBy = routed;
      break;
    }
    const entry = reread === null ? null : deps.rereads.enter(reread);
    if (entry !== null) rereadRequests.push(entry);
    taken += 1;
    bytes += routed.event.bytes;
  }
  queue.drop(taken);
  batch.items = items.all();
  deps.hot.composed(batch, endedBy);
  batch.rereadRequestsDurable = deps.rereads.store(rereadRequests);
  return batch;
}

/**
 * Adds an event to the batch.
 * @returns a request when its document must be re-read; `later` when the batch must end first
 */
function addTo(
  batch: WriteBatch,
  routed: RoutedEvent,
  items: BatchItems,
  deps: BatchDependencies,
): RereadRequest | null | 'later' {
  const { event, collection } = routed;
  const absorbed = deps.rereads.absorb(event, collection);
  if (absorbed === 'buffered') return null;
  if (absorbed === 'dropped') {
    include(batch, routed);
    deps.hot.reread(routed);
    return null;
  }
  const byClass = items.of(collection);
  const before = byClass.get(routed.workerClass);
  const exact = exactAction(routed, deps);
  const action = exact.kind === 'delta' && before === undefined && deps.hot.isReread(routed) ? hotReread : exact;
  if (action.kind === 'reread') {
    if (before !== undefined) return 'later';
    include(batch, routed);
    return { collection, id: event.id, reason: action.reason, time: event.time };
  }
  const folded = before === undefined ? action : foldActions(before.action, action);
  if (folded === null || breaksCappedOrder(collection, folded, before, byClass)) return 'later';
  if (before === undefined) items.size += 1;
  const { workerClass } = routed;
  const changes = 1 + (before?.changes ?? 0);
  byClass.set(workerClass, { collection, id: event.id, workerClass, time: event.time, changes, action: folded });
  include(batch, routed);
  return null;
}

function exactAction(routed: RoutedEvent, deps: BatchDependencies): ReturnType<typeof actionOf> {
  const { event, collection, purpose } = routed;
  if (purpose === 'reread') return recordOrderReread;
  return purpose === 'remove' ? removalOf(event, collection) : actionOf(event, collection, boundsOf(routed, deps));
}

function include(batch: WriteBatch, routed: RoutedEvent): void {
  const { time } = routed.event;
  if (batch.events.length === 0 || time < batch.first) batch.first = time;
  if (time > batch.last) batch.last = time;
  batch.events.push(routed);
}

/** The bounds of an event; a re-read of its document after the event was routed raises `readEnd`. */
function boundsOf({ event, collection, bounds }: RoutedEvent, deps: BatchDependencies): ReplayBounds {
  if (!event.inTransaction && !collection.capped) return bounds;
  const rereadEnd = deps.rereads.readEndOf(collection, event.id);
  if (rereadEnd === null || (bounds.readEnd !== null && bounds.readEnd >= rereadEnd)) return bounds;
  return { ...bounds, readEnd: rereadEnd };
}

/**
 * The batch of a capped collection is one ordered command with statements of one kind, one per document. Inserts and
 * deletes may mix, because from 5.0 every insert into a full collection causes the delete of the oldest document.
 */
function breaksCappedOrder(
  collection: SyncedCollection,
  action: Action,
  before: BatchItem | undefined,
  byClass: ReadonlyMap<string, BatchItem>,
): boolean {
  if (!collection.capped) return false;
  if (before !== undefined) return true;
  for (const item of byClass.values()) {
    return item.action.kind !== action.kind && !(isInsertOrDelete(item.action) && isInsertOrDelete(action));
  }
  return false;
}

function isInsertOrDelete({ kind }: Action): boolean {
  return kind === 'insert' || kind === 'delete';
}

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
        namespace: shownName(counted.collection),
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
