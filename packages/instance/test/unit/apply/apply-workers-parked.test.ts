import { beforeEach, describe, expect, it } from 'vitest';
import { ApplyWorkers } from '../../../src/apply/apply-workers.js';
import type { RoutedEvent } from '../../../src/apply/write-batch.js';
import { idClass } from '../../../src/bson/id.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { ApplyWatermark } from '../../../src/store/task-record.js';
import { ByteBudget, Condition } from '../../../src/async/waiting.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { renameCollection, type SyncedCollection } from '../../../src/store/synced-collection.js';
import { collectionOf, insertOf, never, settled } from '../model/parts.js';

const otherUuid = 'ff'.repeat(16);
let orders: SyncedCollection;
let items: SyncedCollection;
let writes: RawWrite[];
let answers: (() => void)[];
let budget: ByteBudget;
let applyWorkers: ApplyWorkers;

beforeEach(() => {
  orders = collectionOf();
  items = collectionOf({ uuid: otherUuid, name: 'items' });
  [writes, answers] = [[], []];
  budget = new ByteBudget(1_000_000);
  applyWorkers = new ApplyWorkers(2, {
    writer: { write },
    findPresent: () => Promise.resolve(null),
    rereads: new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    budget,
    applyWatermark: new ApplyWatermark(
      1000n,
      () => Promise.resolve(),
      () => 0n,
    ),
    progressed: new Condition(),
    clock: { monotonic_ms: () => 0 },
    onApplied: () => undefined,
  });
});

function write(one: RawWrite): Promise<WriteOutcome> {
  writes.push(one);
  return new Promise((resolve) =>
    answers.push(() => resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [] })),
  );
}

function push(collection: SyncedCollection, id: number, time: bigint): RoutedEvent {
  const event = insertOf(id, time);
  budget.take(event.bytes);
  const routed = {
    event,
    collection,
    workerClass: idClass(event.id, false),
    bounds: { watermark: 0n, readEnd: null },
    purpose: 'apply' as const,
  };
  applyWorkers.push(routed);
  return routed;
}

async function run(): Promise<void> {
  void applyWorkers.run(never, never).catch(() => undefined);
  await settled();
}

async function answerAll(): Promise<void> {
  while (answers.length > 0) {
    for (const answer of answers.splice(0)) answer();
    await settled();
  }
}

const written = (): string[] => writes.map(({ collection }) => collection).sort();

describe('a parked collection', () => {
  it('has its earliest event known apart from those of other collections', () => {
    push(orders, 1, 5n);
    push(items, 2, 7n);
    applyWorkers.park(orders.uuid);
    expect([applyWorkers.oldestOf(orders.uuid), applyWorkers.oldestOf(items.uuid)]).toEqual([5n, 7n]);
    push(items, 3, 8n);
    applyWorkers.resume(orders.uuid);
    expect([applyWorkers.oldestOf(orders.uuid), applyWorkers.oldestOf(items.uuid)]).toEqual([5n, 5n]);
  });

  it('has no event sent, neither queued nor later ones, while others are', async () => {
    push(orders, 1, 5n);
    applyWorkers.park(orders.uuid);
    push(orders, 2, 6n);
    push(items, 1, 7n);
    await run();
    await answerAll();
    expect(written()).toEqual(['items']);
    expect(applyWorkers.oldest()).toBe(5n);
  });

  it('is answered once no statement is in flight', async () => {
    push(orders, 1, 5n);
    await run();
    applyWorkers.park(orders.uuid);
    let quiet = false;
    void applyWorkers.answered(orders.uuid, never).then(() => (quiet = true));
    await settled();
    expect(quiet).toBe(false);
    await answerAll();
    expect(quiet).toBe(true);
  });

  it('does not delay a flush of the workers', async () => {
    push(orders, 1, 5n);
    applyWorkers.park(orders.uuid);
    await expect(applyWorkers.flushed(10n, never)).resolves.toBeUndefined();
  });

  it('resumes in order under its new name', async () => {
    push(orders, 1, 5n);
    applyWorkers.park(orders.uuid);
    const reread = [push(orders, 1, 9n)].map((routed) => ({ ...routed, event: { ...routed.event, time: 4n } }));
    applyWorkers.pushFirst(reread);
    const archive = { database: 'shop', name: 'archive' };
    renameCollection(orders, { ...archive, destination: archive, notBefore: 8n });
    applyWorkers.resume(orders.uuid);
    await run();
    await answerAll();
    expect(new Set(written())).toEqual(new Set(['archive']));
    expect(applyWorkers.oldest()).toBeNull();
  });

  it('copies the bytes of its events, so that their replies can be freed', async () => {
    const before = push(orders, 1, 5n);
    applyWorkers.park(orders.uuid);
    const documents = [before, push(orders, 2, 6n)].flatMap(({ event }) => event.fullDocument ?? []);
    const expected = documents.map((document) => Buffer.from(document));
    for (const document of documents) document.fill(0);
    applyWorkers.resume(orders.uuid);
    await run();
    await answerAll();
    expect(writes.flatMap(({ statements }) => statements)).toEqual(expect.arrayContaining(expected));
  });

  it('frees its bytes when it is forgotten; later events stay parked', async () => {
    push(orders, 1, 5n);
    applyWorkers.park(orders.uuid);
    applyWorkers.forget(orders.uuid);
    expect([budget.used, applyWorkers.oldest()]).toEqual([0, null]);
    push(orders, 1, 6n);
    await run();
    expect(writes).toEqual([]);
    expect(applyWorkers.oldest()).toBe(6n);
  });
});
