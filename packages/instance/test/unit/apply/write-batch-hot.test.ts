import { beforeEach, describe, expect, it } from 'vitest';
import { EventQueue } from '../../../src/apply/apply-workers.js';
import { composeBatch, HotDocuments, type RoutedEvent, type WriteBatch } from '../../../src/apply/write-batch.js';
import { idClass } from '../../../src/bson/id.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { bytesOf, changeOf, collectionOf, updateOf } from '../model/parts.js';

const collection = collectionOf();
/** Longer than a document is counted before it is judged. */
const interval_ms = 2_000;
let now_ms: number;
let hot: HotDocuments;
let rereads: RereadSet;
let queue: EventQueue;
let time: bigint;

beforeEach(() => {
  [now_ms, time] = [0, 0n];
  hot = new HotDocuments({ monotonic_ms: () => now_ms });
  const storage = { upsert: () => Promise.resolve(), remove: () => Promise.resolve() };
  rereads = new RereadSet(storage, new ByteBudget(1_000_000));
  queue = new EventQueue();
});

function push(event: ChangeEvent, of = collection): void {
  const bounds = { watermark: 0n, readEnd: null };
  const workerClass = idClass(event.id, of.collated);
  queue.push({ event, collection: of, workerClass, bounds, purpose: 'apply' } satisfies RoutedEvent);
}

/** Changes of documents, each so many times. */
function change(counts: Readonly<Record<string, number>>, of = collection): void {
  for (const [id, count] of Object.entries(counts))
    for (let change = 1; change <= count; change += 1) push(updateOf(id, (time += 1n), { n: change }), of);
}

function compose(): WriteBatch {
  return composeBatch(queue, { rereads, budget: new ByteBudget(1_000_000), hot });
}

/** Composes batches until the queue is empty, and lets the interval pass. */
function drain(): number {
  let batches = 0;
  for (; queue.length > 0; batches += 1) compose();
  now_ms += interval_ms;
  return batches;
}

describe('a document is hot', () => {
  it('when each batch has many of its changes, and they are a part of the worker’s', () => {
    for (let batch = 0; batch < 10; batch += 1) {
      change({ counter: 60, other: 1, third: 1 });
      change(Object.fromEntries(Array.from({ length: 38 }, (_, index) => [`spread${batch}-${index}`, 1])));
      compose();
    }
    drain();
    expect(hot.read()).toMatchObject([
      { namespace: 'shop.orders', changesPerSecond: 300, workerPercent: 60, appliedBy: 'folding' },
    ]);
  });

  it.each<[string, Record<string, number>, number]>([
    ['with one change in each batch', { counter: 1 }, 1_000],
    ['with few changes in all', { counter: 3 }, 10],
    ['with a small part of the changes', { counter: 40, ...spread(960) }, 10],
  ])('not %s', (_what, changes, batches) => {
    for (let batch = 0; batch < batches; batch += 1) {
      change(changes);
      compose();
    }
    drain();
    expect(hot.read()).toEqual([]);
  });

  it('until the interval after its last changes', () => {
    change({ counter: 500 });
    drain();
    expect(hot.read()).toHaveLength(1);
    now_ms += interval_ms;
    expect(hot.read()).toEqual([]);
  });

  it('by a name that says nothing of its _id, and differs between collections', () => {
    const other = collectionOf({ uuid: 'ff'.repeat(16), name: 'items' });
    change({ 'jane@example.com': 500 });
    change({ 'jane@example.com': 400 }, other);
    drain();
    const [first, second] = hot.read();
    expect([first?.document, second?.document]).toEqual([
      expect.stringMatching(/^[0-9a-f]{12}$/),
      expect.stringMatching(/^[0-9a-f]{12}$/),
    ]);
    expect(first?.document).not.toBe(second?.document);
    const { id, ...shown } = first ?? {};
    expect(JSON.stringify(shown)).not.toContain('jane');
    expect(Buffer.from(id?.bytes ?? []).toString()).toContain('jane@example.com');
  });

  it('not under a collation, where one class has many documents', () => {
    const collated = collectionOf({ collated: true });
    change({ a: 300 }, collated);
    drain();
    expect(hot.read()).toEqual([]);
  });

  it('in a bounded memory: a long _id is left out', () => {
    change({ ['x'.repeat(2_000)]: 500 });
    drain();
    expect(hot.read()).toMatchObject([{ id: null, changesPerSecond: 250 }]);
  });
});

describe('changes of one document', () => {
  it('that fold end no batch, however many they are', () => {
    for (let round = 0; round < 1_000; round += 1) change({ counter: 5, [`spread${round % 300}`]: 1 });
    const batch = compose();
    expect([queue.length, batch.items.length, batch.events.length]).toEqual([0, 301, 6_000]);
  });

  /** Sets a field and removes it again, in turn. */
  const toggle = (times: number, id = 'lock'): void => {
    for (let turn = 0; turn < times; turn += 1) {
      const fields = turn % 2 === 0 ? { updatedFields: { by: turn } } : { updatedFields: {}, removedFields: ['by'] };
      const updateDescription = bytesOf({ removedFields: [], truncatedArrays: [], ...fields });
      push(changeOf(id, (time += 1n), { operation: 'update', updateDescription }));
    }
  };

  it('that do not fold are re-read after a few batches, and named', () => {
    toggle(1_000);
    expect(drain()).toBeLessThan(10);
    expect([...rereads.entries()].map(({ reason, dropped }) => [reason, dropped])).toEqual([['hotDocument', 1_000n]]);
    expect(hot.read()).toMatchObject([{ appliedBy: 'rereading' }]);
  });

  it('that do not fold are sent one by one while they are rare', () => {
    for (let round = 0; round < 200; round += 1) {
      change(spread(3));
      if (round % 40 === 0) toggle(4);
      for (; queue.length > 0;) compose();
    }
    expect(rereads.size).toBe(0);
  });

  it('in a capped collection are never re-read: their order counts', () => {
    const capped = collectionOf({ capped: true });
    for (let turn = 0; turn < 100; turn += 1) push(updateOf('a', (time += 1n), { n: turn }), capped);
    drain();
    expect(rereads.size).toBe(0);
  });
});

function spread(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`spread${index}`, 1]));
}
