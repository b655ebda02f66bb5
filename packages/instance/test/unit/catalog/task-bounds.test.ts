import fc from 'fast-check';
import { Int32, Long, MaxKey, MinKey } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { encodeValue } from '../../../src/bson/scan.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { sampleTaskBounds, taskBoundsOf } from '../../../src/catalog/task-bounds.js';
import { restoredEntry, storedEntry } from '../../../src/catalog/catalog-bytes.js';
import { bsonValues } from '../bson/values.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';

const { signal } = new AbortController();
const large = 64 * 1024 * 1024;

function entryOf(changes: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '0c',
    options: {},
    indexes: [],
    primaryShard: 's0',
    sharding: null,
    sizeBytes: large,
    documentCount: 0,
    ...changes,
  };
}

/** A router whose `$sample` returns documents with these `_id`s. */
function sampled(ids: readonly unknown[]): FakeNodeClient {
  return new FakeNodeClient('router', () => ({
    cursor: { firstBatch: ids.map((id) => new Map([['_id', id]])), oneBatch: true },
  }));
}

/** A router that refuses to sample. */
function refusing(error: Error): FakeNodeClient {
  return new FakeNodeClient('router', () => {
    throw error;
  });
}

async function boundsOf(ids: readonly unknown[], tasks: number, entry = entryOf()) {
  const router = sampled(ids);
  const source = fakeCluster({ router, shardIds: Array.from({ length: tasks }, (_, index) => `s${index}`) });
  const bounds = await sampleTaskBounds(source, entry, signal);
  return { bounds: taskBoundsOf({ ...entry, taskBounds: bounds }), router };
}

describe('bounds of tasks', () => {
  test('divide the sample evenly, and the sample is random and large enough', async () => {
    const { bounds, router } = await boundsOf(
      Array.from({ length: 128 }, (_, index) => new Int32(127 - index)),
      4,
    );
    expect(bounds).toEqual([32, 64, 96].map((id) => encodeValue(new Int32(id))));
    expect(router.sent[0]?.command).toMatchObject({
      aggregate: 'orders',
      pipeline: [{ $sample: { size: 128 } }, { $project: { _id: 1 } }],
      cursor: { batchSize: 128 },
    });
    expect(router.closedCursors).toBe(1);
  });

  test('ascend between MinKey and MaxKey for _ids of all types, and survive being stored', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(bsonValues, { maxLength: 40 }), fc.integer({ min: 2, max: 6 }), async (ids, tasks) => {
        const { bounds } = await boundsOf(ids, tasks);
        expect(bounds.length).toBeLessThan(tasks);
        const all = [encodeValue(new MinKey()), ...bounds];
        for (const [index, bound] of bounds.entries()) {
          const before = all[index];
          if (before !== undefined) expect(compareRaw(before, bound)).toBeLessThan(0);
          expect(ids.some((id) => compareRaw(encodeValue(id), bound) === 0)).toBe(true);
        }
        const entry = entryOf();
        const taskBounds = await sampleTaskBounds(
          fakeCluster({
            router: sampled(ids),
            shardIds: ['a', 'b', 'c'],
          }),
          entry,
          signal,
        );
        const stored = { ...entry, taskBounds };
        expect(taskBoundsOf(restoredEntry(storedEntry(stored)))).toEqual(taskBoundsOf(stored));
      }),
      { numRuns: 300 },
    );
  });

  test.each<[string, unknown[], unknown[]]>([
    ['of one _id', [7], [7]],
    ['of equal numbers', [new Int32(1), Long.fromNumber(1), 1], [Long.fromNumber(1)]],
    ['of none', [], []],
    ['of the least _id alone', [new MinKey()], []],
    ['of the greatest _id', [new MaxKey()], [new MaxKey()]],
  ])('are fewer than wanted in a sample %s', async (_which, ids, expected) => {
    const { bounds } = await boundsOf(ids, 3);
    expect(bounds).toEqual(expected.map(encodeValue));
  });

  test.each<[string, Partial<CatalogEntry>]>([
    ['small', { sizeBytes: 16 * 1024 * 1024 - 1 }],
    ['capped', { options: { capped: true } }],
    ['collated', { options: { collation: { locale: 'de' } } }],
    ['a view', { type: 'view' }],
  ])('are not sampled for what is %s', async (_what, changes) => {
    const { bounds, router } = await boundsOf([1, 2, 3, 4], 2, entryOf(changes));
    expect(bounds).toEqual([]);
    expect(router.sent).toEqual([]);
  });

  test('are sampled under the simple collation, but not for a single task', async () => {
    expect(
      (await boundsOf([1, 2, 3, 4], 2, entryOf({ options: { collation: { locale: 'simple' } } }))).bounds,
    ).toHaveLength(1);
    expect((await boundsOf([1, 2, 3, 4], 1)).bounds).toEqual([]);
  });

  test("are none where the server refuses to sample; a lost connection is the caller's", async () => {
    const failing = (error: Error) => sampleTaskBounds(fakeCluster({ router: refusing(error) }), entryOf(), signal);
    expect(await failing(serverError(28_799, 'Location28799'))).toEqual([]);
    await expect(failing(new Error('connection lost'))).rejects.toThrow('connection lost');
  });
});
