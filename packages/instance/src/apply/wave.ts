import type { ByteBudget } from '../store/byte-budget.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { DoubtfulKey, RepairSet } from '../store/repair-set.js';
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

/**
 * Takes events from the head of a lane's queue and folds them into a wave with at most one statement per id class.
 * Events of keys in the repair set are absorbed by it; events without an exact action put their key there.
 */
export function composeWave(queue: WaitingEvents, context: WaveContext): Wave {
  const byClass = new Map<string, WaveItem>();
  const events: RoutedEvent[] = [];
  const doubts: DoubtfulKey[] = [];
  const doubtsDurable: Promise<void>[] = [];
  let bytes = 0;
  let taken = 0;
  for (const routed of queue) {
    if (byClass.size >= waveItemsMax || bytes >= waveBytesMax) break;
    if (!place(routed, byClass, events, doubts, context)) break;
    const added = doubts.splice(0);
    if (added.length > 0) doubtsDurable.push(context.repairs.add(added));
    taken += 1;
    bytes += routed.event.bytes;
  }
  queue.drop(taken);
  return {
    items: [...byClass.values()],
    events,
    first: extreme(events, (a, b) => a < b),
    last: extreme(events, (a, b) => a > b),
    doubtsDurable: Promise.all(doubtsDurable).then(() => undefined),
  };
}

/** Finds an event's place; false when it has to wait for the next wave. */
function place(
  routed: RoutedEvent,
  byClass: Map<string, WaveItem>,
  events: RoutedEvent[],
  doubts: DoubtfulKey[],
  context: WaveContext,
): boolean {
  const { event, collection } = routed;
  const absorbed = context.repairs.absorb(event, collection);
  if (absorbed === 'held') return true;
  if (absorbed === 'dropped') {
    events.push(routed);
    return true;
  }
  const name = `${collection.uuid}/${routed.laneClass}`;
  const before = byClass.get(name);
  const action = routed.removes ? removalOf(event, collection) : actionOf(event, collection, boundsOf(routed, context));
  if (action.kind === 'doubt') {
    if (before !== undefined) return false;
    doubts.push({ collection, id: event.id, reason: action.reason, time: event.time });
  } else {
    const folded = before === undefined ? action : foldActions(before.action, action);
    if (folded === null || breaksCappedOrder(collection, folded, before, byClass)) return false;
    byClass.set(name, { collection, id: event.id, time: event.time, action: folded });
  }
  events.push(routed);
  return true;
}

/** The bounds of an event, those of a repair of its key included: a key may have been repaired after the event was routed. */
function boundsOf({ event, collection, bounds }: RoutedEvent, context: WaveContext): ReplayBounds {
  if (!event.inTransaction) return bounds;
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
    if (item.collection !== collection) continue;
    return item.action.kind !== action.kind && !(isInsertOrDelete(item.action) && isInsertOrDelete(action));
  }
  return false;
}

function isInsertOrDelete({ kind }: Action): boolean {
  return kind === 'insert' || kind === 'delete';
}

function extreme(events: readonly RoutedEvent[], better: (a: bigint, b: bigint) => boolean): bigint {
  let best: bigint | null = null;
  for (const { event } of events) if (best === null || better(event.time, best)) best = event.time;
  return best ?? 0n;
}
