import fc from 'fast-check';
import { Binary, BSON, Decimal128, Double, Int32, Long, MaxKey, MinKey } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { compareRaw } from '../../../../src/bson/order.js';
import { idClass } from '../../../../src/bson/id.js';
import { encodeValue } from '../../../../src/bson/scan.js';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { followedCatalog } from '../../../../src/lifecycle/task/followed-collections.js';
import { taskCollections } from '../../../../src/lifecycle/task/task-collections.js';
import { PartitionTable } from '../../../../src/store/partition-table.js';
import { bsonValues } from '../../bson/values.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { chunkOf, keyPattern } from '../../catalog/as-read.js';
import { wholeCollections } from '../../model/parts.js';

const client = new FakeNodeClient('router', {});

function entryOf(taskBounds: readonly unknown[], changes: Partial<CatalogEntry> = {}): CatalogEntry {
  const stored = taskBounds
    .map(encodeValue)
    .map(({ type, bytes }) => new Binary(Buffer.concat([Buffer.from([type]), bytes])));
  return {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '00'.repeat(16),
    options: {},
    indexes: [],
    primaryShard: 's0',
    sharding: null,
    sizeBytes: 1,
    documentCount: 0,
    taskBounds: stored,
    ...changes,
  };
}

function tasksOf(entry: CatalogEntry, tasks: number, version: [number, number, number] = [5, 0, 7]) {
  const shardIds = Array.from({ length: tasks }, (_, index) => `s${index}`);
  const source = fakeCluster({ router: client, shardIds, version });
  return shardIds.flatMap((id) =>
    taskCollections(followedCatalog([entry], []).entries, id, source, wholeCollections).map((task) => ({
      id,
      ...task,
    })),
  );
}

const special = fc.constantFrom<unknown>(
  null,
  new MinKey(),
  new MaxKey(),
  new Double(NaN),
  Decimal128.fromString('NaN'),
  new Double(-0),
  new Int32(0),
  Decimal128.fromString('-0E+3'),
  new Int32(1),
  new Double(1),
  Long.fromNumber(1),
  Decimal128.fromString('1.00'),
  {},
  { a: new Int32(1) },
  { a: new Double(1) },
  { a: { b: Long.fromNumber(1) } },
  { a: { b: new Double(1) } },
);
const ids = fc.oneof(special, bsonValues);
const boundsOf = (values: readonly unknown[]) =>
  values
    .map((value) => ({ value, raw: encodeValue(value) }))
    .sort((a, b) => compareRaw(a.raw, b.raw))
    .filter(({ raw }, index, all) => compareRaw(all[index - 1]?.raw ?? encodeValue(new MinKey()), raw) < 0)
    .map(({ value }) => value);
const documentOf = (id: unknown) =>
  BSON.serialize(
    new Map<string, unknown>([
      ['_id', id],
      ['x', 1],
    ]),
  );

describe('tasks of a collection that is read through the router', () => {
  test('cover every _id exactly once, and never divide a class of equal ones', () => {
    fc.assert(
      fc.property(
        fc.array(ids, { maxLength: 5 }),
        fc.array(ids, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 0, max: 3 }),
        (bounds, wanted, more) => {
          const chosen = boundsOf(bounds);
          const tasks = tasksOf(entryOf(chosen), chosen.length + 1 + more);
          const owners = new Map<string, string>();
          for (const id of wanted) {
            const owning = tasks.filter(({ collection }) => collection.owns(documentOf(id), 'document'));
            expect(owning).toHaveLength(1);
            const byKey = BSON.serialize(
              new Map<string, unknown>([
                ['sk', 1],
                ['_id', id],
              ]),
            );
            expect(tasks.find(({ collection }) => collection.owns(byKey, 'documentKey'))?.id).toBe(owning[0]?.id);
            const name = idClass(encodeValue(id), false);
            expect(owners.get(name) ?? owning[0]?.id).toBe(owning[0]?.id);
            owners.set(name, owning[0]?.id ?? '');
          }
        },
      ),
      { numRuns: 800 },
    );
  });

  test('own exactly what their partitions read', () => {
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 4 }), ids, (bounds, id) => {
        const chosen = boundsOf(bounds);
        const raw = encodeValue(id);
        for (const { collection, range } of tasksOf(entryOf(chosen), chosen.length + 1)) {
          const { partitions } = PartitionTable.fresh(collection, [], () => Promise.resolve(), range);
          const read = partitions.some(
            ({ lower, upper }) => compareRaw(lower, raw) <= 0 && (upper.type === 0x7f || compareRaw(raw, upper) < 0),
          );
          // A last partition with the bound MaxKey is read without one; `owns` excludes the next task's documents.
          if (collection.owns(documentOf(id), 'document')) expect(read).toBe(true);
          else if (compareRaw(raw, encodeValue(new MaxKey())) < 0) expect(read).toBe(false);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('are one for a collection without bounds, assigned by its UUID', () => {
    const owners = Array.from({ length: 60 }, (_, index) => {
      const tasks = tasksOf(entryOf([], { uuid: index.toString(16).padStart(32, '0') }), 3);
      expect(tasks).toHaveLength(1);
      return tasks[0]?.id;
    });
    expect(['s0', 's1', 's2'].map((id) => owners.filter((owner) => owner === id).length)).toEqual([20, 20, 20]);
  });

  test('know how large their part is, and which fraction of the visible documents it is', () => {
    expect(
      tasksOf(entryOf([5, 7], { sizeBytes: 300 }), 4).map(({ sizeBytes, seenPerOwned }) => [sizeBytes, seenPerOwned]),
    ).toEqual([
      [100, 3],
      [100, 3],
      [100, 3],
    ]);
    expect(tasksOf(entryOf([], { sizeBytes: 300 }), 4)).toMatchObject([{ sizeBytes: 300, seenPerOwned: 1 }]);
  });

  test('are fewer than instances when there are few bounds', () => {
    expect(tasksOf(entryOf([5]), 3).map(({ id }) => id)).toEqual(['s0', 's1']);
  });

  test('read by name, from 6.0 on only of their UUID; orphans checked before 6.0 where chunks moved', () => {
    const sharding = (everMoved: boolean) =>
      entryOf([], { sharding: { key: keyPattern({ k: 1 }), unique: false, chunks: [], everMoved } });
    const first = (entry: CatalogEntry, version: [number, number, number]) => tasksOf(entry, 1, version)[0]?.collection;
    expect(first(sharding(true), [5, 0, 7])).toMatchObject({ readBy: 'name', showsOrphans: true });
    expect(first(sharding(false), [5, 0, 7])).toMatchObject({ readBy: 'name', showsOrphans: false });
    expect(first(sharding(true), [6, 0, 1])).toMatchObject({ readBy: 'nameOfUuid', showsOrphans: false });
    expect(first(entryOf([]), [5, 0, 7])).toMatchObject({ showsOrphans: false });
  });
});

test('a sharded collection may have orphans while the balancer stays on', () => {
  const chunks = [chunkOf({ k: new MinKey() }, { k: new MaxKey() }, 's0')];
  const sharding = { key: keyPattern({ k: 1 }), unique: false, chunks, everMoved: false };
  const shows = (entry: CatalogEntry, version: [number, number, number]): boolean | undefined => {
    const source = fakeCluster({ router: client, shardIds: ['s0'], version });
    const { entries } = followedCatalog([entry], []);
    return taskCollections(entries, 's0', source, wholeCollections, true)[0]?.collection.showsOrphans;
  };
  expect(shows(entryOf([], { sharding }), [5, 0, 7])).toBe(true);
  expect(shows(entryOf([], { sharding }), [6, 0, 0])).toBe(false);
  expect(shows(entryOf([]), [5, 0, 7])).toBe(false);
});

test('with direct access a task has what its shard owns, whatever bounds are stored', () => {
  const chunks = [chunkOf({ k: new MinKey() }, { k: 0 }, 's0'), chunkOf({ k: 0 }, { k: new MaxKey() }, 's1')];
  const entry = entryOf([5], { sharding: { key: keyPattern({ k: 1 }), unique: false, chunks, everMoved: true } });
  const source = fakeCluster({
    router: client,
    shards: new Map([
      ['s0', client],
      ['s1', client],
    ]),
    shardIds: ['s0', 's1'],
  });
  const [task] = taskCollections(followedCatalog([entry], []).entries, 's1', source, wholeCollections);
  expect(task?.collection).toMatchObject({ readBy: 'uuid', showsOrphans: false });
  expect(task?.collection.owns(BSON.serialize({ _id: 1, k: 7 }), 'document')).toBe(true);
  expect(task?.collection.owns(BSON.serialize({ _id: 9, k: -7 }), 'document')).toBe(false);
});

test('with direct access the parts of a collection add up to its size, on however many shards it is', () => {
  const shardIds = ['s0', 's1', 's2'];
  const source = fakeCluster({ router: client, shards: new Map(shardIds.map((id) => [id, client])), shardIds });
  const total = (entry: CatalogEntry): number =>
    shardIds
      .flatMap((id) => taskCollections(followedCatalog([entry], []).entries, id, source, wholeCollections))
      .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const chunks = [chunkOf({ k: new MinKey() }, { k: 0 }, 's0'), chunkOf({ k: 0 }, { k: new MaxKey() }, 's1')];
  const sharding = { key: keyPattern({ k: 1 }), unique: false, chunks, everMoved: false };
  expect(total(entryOf([], { sizeBytes: 300 }))).toBe(300);
  expect(total(entryOf([], { sizeBytes: 300, sharding }))).toBe(300);
});

test('a document of a sharded source is named by its shard key on every destination', () => {
  const chunks = [chunkOf({ k: new MinKey() }, { k: new MaxKey() }, 's0')];
  const sharding = { key: keyPattern({ k: 'hashed' }), unique: false, chunks, everMoved: false };
  const [task] = tasksOf(entryOf([], { sharding }), 1);
  expect(task?.collection.destinationKey).toEqual([{ field: 'k', hashed: true }]);
});
