import type { ByteBudget } from '../store/byte-budget.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { DoubtfulKey, RepairEntry, RepairSet } from '../store/repair-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { type Action, actionOf, foldActions, removalOf, type ReplayBounds } from './action.js';

/** An event on its way to a lane. */
export interface RoutedEvent {
  event: ChangeEvent;
  collection: SyncedCollection;
  /** What the `_id` index takes for equal; events of one class keep their order. */
  laneClass: string;
  bounds: ReplayBounds;
  /** The event belongs to a dirty partition: the document under its key is removed. */
  removes: boolean;
}

/** Events that wait, in order; those taken are dropped from the front. */
export interface WaitingEvents extends Iterable<RoutedEvent> {
  drop(count: number): void;
}

/** One document's statement in a wave. */
export interface WaveItem {
  collection: SyncedCollection;
  id: ChangeEvent['id'];
  /** Time of the latest event folded into it. */
  time: bigint;
  action: Action;
}

/** Statements for different documents, sent unordered and all at once. */
export interface Wave {
  items: WaveItem[];
  events: RoutedEvent[];
  /** Earliest and latest event time in it. */
  first: bigint;
  last: bigint;
  /** Resolves when the keys that had no exact action are durable in the repair set. */
  doubtsDurable: Promise<void>;
}

/** The peers' experience: larger bulks gain nothing, and a wave is what a crash repeats. */
const waveItemsMax = 1000;
/** Far below the 48 MB of one message. */
const waveBytesMax = 8 * 1024 * 1024;

/** What composing needs beside the queue. */
export interface WaveContext {
  repairs: RepairSet;
  budget: ByteBudget;
}

/** The statements of a wave by collection and id class. */
class WaveItems {
  readonly #byCollection = new Map<SyncedCollection, Map<string, WaveItem>>();
  #last: { collection: SyncedCollection; items: Map<string, WaveItem> } | null = null;
  size = 0;

  /** The statements of one collection, by id class. */
  of(collection: SyncedCollection): Map<string, WaveItem> {
    if (this.#last?.collection === collection) return this.#last.items;
    const items = this.#byCollection.get(collection) ?? new Map<string, WaveItem>();
    this.#byCollection.set(collection, items);
    this.#last = { collection, items };
    return items;
  }

  all(): WaveItem[] {
    return [...this.#byCollection.values()].flatMap((items) => [...items.values()]);
  }
}

/**
 * Takes events from the head of a lane's queue and folds them into a wave with at most one statement per id class.
 * Events of keys in the repair set are absorbed by it; events without an exact action put their key there.
 */
export function composeWave(queue: WaitingEvents, context: WaveContext): Wave {
  const items = new WaveItems();
  const wave: Wave = { items: [], events: [], first: 0n, last: 0n, doubtsDurable: Promise.resolve() };
  const doubts: RepairEntry[] = [];
  let bytes = 0;
  let taken = 0;
  for (const routed of queue) {
    if (items.size >= waveItemsMax || bytes >= waveBytesMax) break;
    const doubt = place(routed, items, wave, context);
    if (doubt === 'later') break;
    const entry = doubt === null ? null : context.repairs.enter(doubt);
    if (entry !== null) doubts.push(entry);
    taken += 1;
    bytes += routed.event.bytes;
  }
  queue.drop(taken);
  wave.items = items.all();
  wave.doubtsDurable = context.repairs.store(doubts);
  return wave;
}

/** Finds an event's place in the wave, or its key's in the repair set; `later` when it has to wait for the next wave. */
function place(routed: RoutedEvent, items: WaveItems, wave: Wave, context: WaveContext): DoubtfulKey | null | 'later' {
  const { event, collection } = routed;
  const absorbed = context.repairs.absorb(event, collection);
  if (absorbed === 'held') return null;
  if (absorbed === 'dropped') {
    include(wave, routed);
    return null;
  }
  const byClass = items.of(collection);
  const before = byClass.get(routed.laneClass);
  const action = routed.removes ? removalOf(event, collection) : actionOf(event, collection, boundsOf(routed, context));
  if (action.kind === 'doubt') {
    if (before !== undefined) return 'later';
    include(wave, routed);
    return { collection, id: event.id, reason: action.reason, time: event.time };
  }
  const folded = before === undefined ? action : foldActions(before.action, action);
  if (folded === null || breaksCappedOrder(collection, folded, before, byClass)) return 'later';
  if (before === undefined) items.size += 1;
  byClass.set(routed.laneClass, { collection, id: event.id, time: event.time, action: folded });
  include(wave, routed);
  return null;
}

function include(wave: Wave, routed: RoutedEvent): void {
  const { time } = routed.event;
  if (wave.events.length === 0 || time < wave.first) wave.first = time;
  if (time > wave.last) wave.last = time;
  wave.events.push(routed);
}

/** The bounds of an event, those of a repair of its key included: a key may have been repaired after the event was routed. */
function boundsOf({ event, collection, bounds }: RoutedEvent, context: WaveContext): ReplayBounds {
  if (!event.inTransaction && !collection.capped) return bounds;
  const repaired = context.repairs.readEndOf(collection, event.id);
  if (repaired === null || (bounds.readEnd !== null && bounds.readEnd >= repaired)) return bounds;
  return { ...bounds, readEnd: repaired };
}

/**
 * A capped collection's wave is one ordered command: statements of one kind, one per document. Deletes may stand among
 * inserts, because from 5.0 on every insert into a full collection comes with the delete of the oldest document.
 */
function breaksCappedOrder(
  collection: SyncedCollection,
  action: Action,
  before: WaveItem | undefined,
  byClass: ReadonlyMap<string, WaveItem>,
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
