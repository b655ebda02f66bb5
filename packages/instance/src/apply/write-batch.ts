import type { ByteBudget } from '../async/waiting.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { RereadEntry, RereadRequest, RereadSet } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { type Action, actionOf, foldActions, removalOf, type ReplayBounds } from './action.js';
import type { HotDocuments } from './hot-documents.js';

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
    const reread = place(routed, items, batch, deps);
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
function place(
  routed: RoutedEvent,
  items: BatchItems,
  batch: WriteBatch,
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
