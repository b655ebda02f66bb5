import type { StreamStep } from '../../../src/apply/change-stream-reader.js';
import { EventDispatcher, type EventDispatcherDependencies } from '../../../src/apply/event-dispatcher.js';
import type { RoutedEvent } from '../../../src/apply/write-batch.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { Partition } from '../../../src/store/partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { eventOf, type SeenChange } from '../model/change-events.js';
import { collectionOf, rawOf } from '../model/parts.js';

const startAt = 10n;
/** The DDL watermark of the dispatchers. */
export const ddlWatermark = 1000n;

/** A dispatcher over a collection with one partition, whose workers only record their events. */
export class DispatcherFixture {
  readonly routed: RoutedEvent[] = [];
  readonly found: string[] = [];
  readonly budget = new ByteBudget(1_000_000);
  table = PartitionTable.fresh(collectionOf(), [], () => Promise.resolve());

  dispatcherOf(
    changes: Partial<EventDispatcherDependencies> = {},
    collection: SyncedCollection = collectionOf(),
    lastWrite = 0n,
  ): EventDispatcher {
    this.table = PartitionTable.fresh(collection, [], () => Promise.resolve());
    const deps: EventDispatcherDependencies = {
      collections: new Map([[collection.uuid, collection]]),
      tables: new Map([[collection.uuid, this.table]]),
      applyWorkers: { push: (event) => void this.routed.push(event) },
      budget: this.budget,
      sentUpTo: 0n,
      onUnknownCollection: (_database, name) => void this.found.push(name),
      filter: { includes: () => true },
      ...changes,
    };
    const dispatcher = new EventDispatcher(deps, startAt, lastWrite);
    dispatcher.setDdlWatermark(ddlWatermark);
    return dispatcher;
  }

  get partition(): Partition {
    const [only] = this.table.partitions;
    if (only === undefined) throw new Error('a table has a partition');
    return only;
  }

  get routedTimes(): bigint[] {
    return this.routed.map(({ event: { time } }) => time);
  }
}

/** An event of the document with `_id` 1; an update by default. */
export function event(time: bigint, changes: Partial<SeenChange> = {}): Uint8Array {
  const key: SeenChange['key'] = [
    ['sk', rawOf(1)],
    ['_id', rawOf(1)],
  ];
  return eventOf({ operation: 'update', updated: [['v', rawOf(1)]], key, inTransaction: false, ...changes }, time);
}

/** A step of the stream that reads everything below `readBelow`. */
export function step(events: Uint8Array[], readBelow: bigint, changes: Partial<StreamStep> = {}): StreamStep {
  return { events, readBelow, sourceTime: readBelow, reopened: false, ...changes };
}
