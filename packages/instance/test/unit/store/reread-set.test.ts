import { BSON, BSONSymbol, type Document, Double, Int32, Long } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { type RereadRequest, type RereadEntry, RereadSet, type RereadStorage } from '../../../src/store/reread-set.js';
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

describe('a doubtful key', () => {
  it('stands for everything that the index takes for equal', async () => {
    const { set, storage } = await setWith(new Int32(1), new Double(1), Long.ONE, 'a', new BSONSymbol('a'));
    expect([set.size, storage.documents.size]).toEqual([2, 2]);
    expect(set.get(collection, rawOf(new Double(1)))).toBeDefined();
    expect(set.get(collectionOf({ uuid: 'ff'.repeat(16) }), rawOf(1))).toBeUndefined();
  });

  it('is not durable before the storage says so', async () => {
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

  it('comes back after a restart, bytes and all', async () => {
    const { storage } = await setWith(new Map([['x', new Double(1)]]), 'text');
    const restored = new RereadSet(new StorageOfTests(), new ByteBudget(1));
    restored.restore([...storage.documents.values()], new Map([[collection.uuid, collection]]));
    expect([...restored.entries()].map(({ id, durable }) => [id, durable])).toEqual([
      [rawOf(new Map([['x', new Double(1)]])), true],
      [rawOf('text'), true],
    ]);
  });

  it('owns its bytes: the batch it came from may go', async () => {
    const { set } = await setWith();
    const id = rawOf('text');
    await set.add([{ ...keyOf(1), id }]);
    id.bytes.fill(0);
    expect(set.get(collection, rawOf('text'))?.id).toEqual(rawOf('text'));
  });
});

describe('a key that statements may be under way for', () => {
  it('absorbs its events at once, and is not read before those are answered', async () => {
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

describe('an event of a doubtful key', () => {
  it('is dropped until the reading time is chosen and up to it, and held above it', async () => {
    const { set } = await setWith(1);
    const entry = only(set);
    expect(set.absorb(updateOf(1, 7n, { a: 1 }), collection)).toBe('dropped');
    expect(entry.dropped).toBe(7n);
    entry.readTime = 8n;
    expect(set.absorb(updateOf(1, 8n, { a: 1 }), collection)).toBe('dropped');
    expect(set.absorb(updateOf(1, 9n, { a: 1 }), collection)).toBe('buffered');
    expect(set.absorb(updateOf(2, 9n, { a: 1 }), collection)).toBe(false);
    expect(set.oldestBuffered()).toBe(9n);
  });

  it('is held with bytes of its own: the reply it came in may go', async () => {
    const { set } = await setWith(1);
    only(set).readTime = 8n;
    const event = updateOf(1, 9n, { a: 1 });
    const before = Buffer.from(event.documentKey);
    set.absorb(event, collection);
    event.documentKey.fill(0);
    expect(only(set).buffered[0]?.documentKey).toEqual(before);
  });

  it('that was held is dropped by a failed try, and the next reading is no earlier', async () => {
    const { set, budget } = await setWith(1);
    const entry = only(set);
    entry.readTime = 8n;
    const event = updateOf(1, 9n, { a: 1 });
    budget.take(event.bytes);
    set.absorb(event, collection);
    set.postpone(entry, 100);
    expect(entry).toMatchObject({ readTime: null, dropped: 9n, buffered: [], attempts: 1, notBefore_ms: 100 });
    expect([budget.used, set.oldestBuffered()]).toEqual([0, null]);
  });

  it('raises the reading time when its key is doubted again', async () => {
    const { set, storage } = await setWith(1);
    await set.add([keyOf(1, 20n)]);
    expect([only(set).dropped, storage.documents.size]).toEqual([20n, 1]);
  });
});

describe('a repaired key', () => {
  it('leaves durably first, and its held events go on in the moment in which it leaves', async () => {
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

  it('is remembered with the end of its reading until everything before is done', async () => {
    const { set } = await setWith(1);
    await set.remove([...set.entries()], 9n, () => undefined);
    expect(set.readEndOf(collection, rawOf(new Double(1)))).toBe(9n);
    set.forgetReadings(9n);
    expect(set.readEndOf(collection, rawOf(1))).toBe(9n);
    set.forgetReadings(10n);
    expect(set.readEndOf(collection, rawOf(1))).toBeNull();
  });
});

describe('keys of a collection that is gone', () => {
  it('leave the set, durably, and give back what they have held', async () => {
    const { set, storage, budget } = await setWith(1, 2);
    const other = collectionOf({ uuid: 'ff'.repeat(16) });
    await set.add([{ ...keyOf(3), collection: other }]);
    const [first] = set.entries();
    if (first !== undefined) first.readTime = 5n;
    const buffered = updateOf(1, 9n, { f: 1 });
    budget.take(buffered.bytes);
    expect(set.absorb(buffered, collection)).toBe('buffered');
    await set.forget(collection.uuid);
    expect([set.size, storage.documents.size, budget.used, set.oldestBuffered()]).toEqual([1, 1, 0, null]);
  });
});
