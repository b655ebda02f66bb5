import { BSON, BSONSymbol, type Document, Double, Int32, Long } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/async/waiting.js';
import { type RereadEntry, type RereadRequest, RereadSet, type RereadStorage } from '../../../src/store/reread-set.js';
import { collectionOf, rawOf, settled, updateOf } from '../model/parts.js';

const collection = collectionOf();

class StorageOfTests implements RereadStorage {
  readonly documents = new Map<string, Document>();
  waiting: (() => void)[] = [];
  holds = false;

  async upsert(documents: Document[]): Promise<void> {
    if (this.holds) await new Promise<void>((resolve) => this.waiting.push(resolve));
    for (const document of documents)
      this.documents.set(String(document._id), BSON.deserialize(BSON.serialize(document), { promoteBuffers: false }));
  }

  async remove(ids: string[]): Promise<void> {
    if (this.holds) await new Promise<void>((resolve) => this.waiting.push(resolve));
    for (const id of ids) this.documents.delete(id);
  }
}

function keyOf(id: unknown, time = 5n): RereadRequest {
  return { collection, id: rawOf(id), reason: 'duplicateKey', time };
}

async function setWith(...ids: unknown[]): Promise<{ set: RereadSet; storage: StorageOfTests; budget: ByteBudget }> {
  const storage = new StorageOfTests();
  const budget = new ByteBudget(1000);
  const set = new RereadSet(storage, budget);
  await set.add(ids.map((id) => keyOf(id)));
  return { set, storage, budget };
}

function only(set: RereadSet): RereadEntry {
  const [entry] = set.entries();
  if (entry === undefined) throw new Error('the set is empty');
  return entry;
}

describe('a document to re-read', () => {
  it('counts for a copy in record order until it has left the set, by a read or with its range', async () => {
    const { set, storage, budget } = await setWith(1);
    const ofOrder = (id: number): RereadRequest => ({ ...keyOf(id), reason: 'recordOrder' });
    await set.add([ofOrder(2), ofOrder(3), ofOrder(4), ofOrder(4)]);
    expect(set.ofRecordOrder).toBe(3);
    const [, two, three] = [...set.entries()];
    if (two === undefined || three === undefined) throw new Error('the set has three entries');
    await set.remove([two], 9n, () => undefined);
    await set.giveUp([three]);
    expect(set.ofRecordOrder).toBe(1);
    const restored = new RereadSet(storage, budget);
    restored.restore([...storage.documents.values()], new Map([[collection.uuid, collection]]));
    expect(restored.ofRecordOrder).toBe(1);
    await restored.forget(collection.uuid);
    expect([restored.ofRecordOrder, restored.size]).toEqual([0, 0]);
  });

  it('stands for all _ids of its id class', async () => {
    const { set, storage } = await setWith(new Int32(1), new Double(1), Long.ONE, 'a', new BSONSymbol('a'));
    expect([set.size, storage.documents.size]).toEqual([2, 2]);
    expect(set.get(collection, rawOf(new Double(1)))).toBeDefined();
    expect(set.get(collectionOf({ uuid: 'ff'.repeat(16) }), rawOf(1))).toBeUndefined();
  });

  it('is not durable before it is stored', async () => {
    const { set, storage } = await setWith();
    storage.holds = true;
    let added = false;
    void set.add([keyOf(1)]).then(() => (added = true));
    await settled();
    expect([added, set.size, only(set).durable]).toEqual([false, 1, false]);
    storage.waiting[0]?.();
    await settled();
    expect([added, only(set).durable]).toEqual([true, true]);
  });

  it('is restored after a restart, byte for byte', async () => {
    const { storage } = await setWith(new Map([['x', new Double(1)]]), 'text');
    const restored = new RereadSet(new StorageOfTests(), new ByteBudget(1));
    restored.restore([...storage.documents.values()], new Map([[collection.uuid, collection]]));
    expect([...restored.entries()].map(({ id, durable }) => [id, durable])).toEqual([
      [rawOf(new Map([['x', new Double(1)]])), true],
      [rawOf('text'), true],
    ]);
  });

  it('owns its bytes, so that its batch can be freed', async () => {
    const { set } = await setWith();
    const id = rawOf('text');
    await set.add([{ ...keyOf(1), id }]);
    id.bytes.fill(0);
    expect(set.get(collection, rawOf('text'))?.id).toEqual(rawOf('text'));
  });
});

describe('a document that may have statements in flight', () => {
  it('absorbs its events at once, and is not read before these are answered', async () => {
    const { set, storage } = await setWith();
    let answer = (): void => undefined;
    const added = set.addParked([keyOf(1, 0n)], () => new Promise<void>((resolve) => (answer = resolve)));
    expect(set.absorb(updateOf(1, 6n, { a: 1 }), collection)).toBe('dropped');
    await settled();
    expect([storage.documents.size, only(set).durable, only(set).notBefore_ms]).toEqual([1, true, Infinity]);
    answer();
    await added;
    expect(only(set).notBefore_ms).toBe(0);
  });
});

describe('an event of a document to re-read', () => {
  it('is dropped before there is a read time, and up to it; later ones are buffered', async () => {
    const { set } = await setWith(1);
    const entry = only(set);
    expect(set.absorb(updateOf(1, 7n, { a: 1 }), collection)).toBe('dropped');
    expect(entry.dropped).toBe(7n);
    entry.readTime = 8n;
    expect(set.absorb(updateOf(1, 8n, { a: 1 }), collection)).toBe('dropped');
    expect(set.absorb(updateOf(1, 9n, { a: 1 }), collection)).toBe('buffered');
    expect(set.absorb(updateOf(2, 9n, { a: 1 }), collection)).toBe(false);
    expect(set.oldestPending()).toBe(9n);
  });

  it('that an entry drops before it is durable does not count as applied until then', async () => {
    const { set, storage } = await setWith();
    storage.holds = true;
    const added = set.addParked([keyOf(1)], () => Promise.resolve());
    expect(set.absorb(updateOf(1, 7n, { a: 1 }), collection)).toBe('dropped');
    expect(set.absorb(updateOf(1, 8n, { a: 1 }), collection)).toBe('dropped');
    expect(set.oldestPending()).toBe(7n);
    for (const answer of storage.waiting) answer();
    await added;
    expect(set.oldestPending()).toBe(null);
  });

  it('of another request does not count as applied until the entry of an earlier one is durable', async () => {
    const { set, storage } = await setWith();
    storage.holds = true;
    const parked = set.addParked([keyOf(1, 0n)], () => Promise.resolve());
    let isAdded = false;
    const added = set.add([keyOf(1, 7n)]).then(() => (isAdded = true));
    await settled();
    expect([isAdded, storage.waiting.length]).toEqual([false, 1]);
    for (const answer of storage.waiting) answer();
    await Promise.all([parked, added]);
    expect(only(set)).toMatchObject({ durable: true, dropped: 7n });
  });

  it('is buffered with a copy of its bytes, so that its reply can be freed', async () => {
    const { set } = await setWith(1);
    only(set).readTime = 8n;
    const event = updateOf(1, 9n, { a: 1 });
    const before = Buffer.from(event.documentKey);
    set.absorb(event, collection);
    event.documentKey.fill(0);
    expect(only(set).buffered[0]?.documentKey).toEqual(before);
  });

  it('that is buffered is dropped by a failed read, and the next read is not earlier', async () => {
    const { set, budget } = await setWith(1);
    const entry = only(set);
    entry.readTime = 8n;
    const event = updateOf(1, 9n, { a: 1 });
    budget.take(event.bytes);
    set.absorb(event, collection);
    set.postpone(entry, 100);
    expect(entry).toMatchObject({ readTime: null, dropped: 9n, buffered: [], attempts: 1, notBefore_ms: 100 });
    expect([budget.used, set.oldestPending()]).toEqual([0, null]);
  });

  it('raises the read time with another request', async () => {
    const { set, storage } = await setWith(1);
    await set.add([keyOf(1, 20n)]);
    expect([only(set).dropped, storage.documents.size]).toEqual([20n, 1]);
  });
});

describe('a re-read document', () => {
  it('is removed durably first, and releases its buffered events in the same tick', async () => {
    const { set, storage } = await setWith(1, 2);
    storage.holds = true;
    const sizes: number[] = [];
    const removed = set.remove([...set.entries()], 9n, () => void sizes.push(set.size));
    await settled();
    expect([set.size, sizes]).toEqual([2, []]);
    storage.waiting[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    expect(sizes).toEqual([1, 0]);
    await removed;
    expect(storage.documents.size).toBe(0);
  });

  it('is remembered with the end of its read until all earlier events are applied', async () => {
    const { set } = await setWith(1);
    await set.remove([...set.entries()], 9n, () => undefined);
    expect(set.readEndOf(collection, rawOf(new Double(1)))).toBe(9n);
    set.forgetReadings(() => 9n);
    expect(set.readEndOf(collection, rawOf(1))).toBe(9n);
    set.forgetReadings(() => 10n);
    expect(set.readEndOf(collection, rawOf(1))).toBeNull();
  });
});

it('a re-read is forgotten although earlier events of another collection wait', async () => {
  const { set } = await setWith(1);
  const other = collectionOf({ uuid: 'ff'.repeat(16) });
  await set.add([{ ...keyOf(1), collection: other }]);
  await set.remove([...set.entries()], 9n, () => undefined);
  set.forgetReadings((uuid) => (uuid === other.uuid ? 5n : 10n));
  expect([collection, other].map((one) => set.readEndOf(one, rawOf(1)))).toEqual([null, 9n]);
});

describe('documents of a collection that is gone', () => {
  it('are removed durably, and free their buffered events', async () => {
    const { set, storage, budget } = await setWith(1, 2);
    const other = collectionOf({ uuid: 'ff'.repeat(16) });
    await set.add([{ ...keyOf(3), collection: other }]);
    const [first] = set.entries();
    if (first !== undefined) first.readTime = 5n;
    const buffered = updateOf(1, 9n, { f: 1 });
    budget.take(buffered.bytes);
    expect(set.absorb(buffered, collection)).toBe('buffered');
    await set.forget(collection.uuid);
    expect([set.size, storage.documents.size, budget.used, set.oldestPending()]).toEqual([1, 1, 0, null]);
  });
});
