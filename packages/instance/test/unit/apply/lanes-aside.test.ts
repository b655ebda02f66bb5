import { beforeEach, describe, expect, it } from 'vitest';
import { Lanes } from '../../../src/apply/lanes.js';
import type { RoutedEvent } from '../../../src/apply/wave.js';
import { idClass } from '../../../src/bson/id-class.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/door.js';
import { Begun } from '../../../src/store/begun.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { RepairSet } from '../../../src/store/repair-set.js';
import { Signalled } from '../../../src/store/signalled.js';
import { renameCollection, type SyncedCollection } from '../../../src/store/synced-collection.js';
import { collectionOf, insertOf, never, settled } from '../model/parts.js';

const otherUuid = 'ff'.repeat(16);
let orders: SyncedCollection;
let items: SyncedCollection;
let writes: RawWrite[];
let answers: (() => void)[];
let budget: ByteBudget;
let lanes: Lanes;

beforeEach(() => {
  orders = collectionOf();
  items = collectionOf({ uuid: otherUuid, name: 'items' });
  [writes, answers] = [[], []];
  budget = new ByteBudget(1_000_000);
  lanes = new Lanes(2, {
    writer: { write } as never,
    findPresent: () => Promise.resolve(null),
    repairs: new RepairSet({ put: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    budget,
    begun: new Begun(1000n, () => Promise.resolve(), () => 0n),
    progressed: new Signalled(),
    onApplied: () => undefined,
  });
});

function write(one: RawWrite): Promise<WriteOutcome> {
  writes.push(one);
  return new Promise((resolve) => answers.push(() => resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [] })));
}

function push(collection: SyncedCollection, id: number, time: bigint): RoutedEvent {
  const event = insertOf(id, time);
  budget.take(event.bytes);
  const routed = { event, collection, laneClass: idClass(event.id, false), bounds: { begunBefore: 0n, readEnd: null }, removes: false };
  lanes.push(routed);
  return routed;
}

async function run(): Promise<void> {
  void lanes.run(never, never).catch(() => undefined);
  await settled();
}

async function answerAll(): Promise<void> {
  while (answers.length > 0) {
    for (const answer of answers.splice(0)) answer();
    await settled();
  }
}

const written = (): string[] => writes.map(({ collection }) => collection).sort();

describe('a collection that is let go of', () => {
  it('has nothing sent of it, what waits and what comes, while others go on', async () => {
    push(orders, 1, 5n);
    lanes.setAside(orders.uuid);
    push(orders, 2, 6n);
    push(items, 1, 7n);
    await run();
    await answerAll();
    expect(written()).toEqual(['items']);
    expect(lanes.oldest()).toBe(5n);
  });

  it('is quiet once the statements under way are answered', async () => {
    push(orders, 1, 5n);
    await run();
    lanes.setAside(orders.uuid);
    let quiet = false;
    void lanes.answered(orders.uuid, never).then(() => (quiet = true));
    await settled();
    expect(quiet).toBe(false);
    await answerAll();
    expect(quiet).toBe(true);
  });

  it('does not hold up those who wait until the lanes are flushed', async () => {
    push(orders, 1, 5n);
    lanes.setAside(orders.uuid);
    await expect(lanes.flushed(10n, never)).resolves.toBeUndefined();
  });

  it('goes on in order under its new name', async () => {
    push(orders, 1, 5n);
    lanes.setAside(orders.uuid);
    const repaired = [push(orders, 1, 9n)].map((routed) => ({ ...routed, event: { ...routed.event, time: 4n } }));
    lanes.pushFirst(repaired);
    renameCollection(orders, { database: 'shop', name: 'archive', notBefore: 8n });
    lanes.takeUp(orders.uuid);
    await run();
    await answerAll();
    expect(new Set(written())).toEqual(new Set(['archive']));
    expect(lanes.oldest()).toBeNull();
  });

  it('keeps its events with bytes of their own: the replies they came in may go', async () => {
    const before = push(orders, 1, 5n);
    lanes.setAside(orders.uuid);
    const documents = [before, push(orders, 2, 6n)].flatMap(({ event }) => event.fullDocument ?? []);
    const expected = documents.map((document) => Buffer.from(document));
    for (const document of documents) document.fill(0);
    lanes.takeUp(orders.uuid);
    await run();
    await answerAll();
    expect(writes.flatMap(({ statements }) => statements)).toEqual(expect.arrayContaining(expected));
  });

  it('gives its bytes back when it is forgotten, and what still comes waits', async () => {
    push(orders, 1, 5n);
    lanes.setAside(orders.uuid);
    lanes.forget(orders.uuid);
    expect([budget.used, lanes.oldest()]).toEqual([0, null]);
    push(orders, 1, 6n);
    await run();
    expect(writes).toEqual([]);
    expect(lanes.oldest()).toBe(6n);
  });
});
