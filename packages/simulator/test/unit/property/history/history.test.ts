import fc from 'fast-check';
import { type Document, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../runs.js';
import { type DrivenHistory, DrivenHistories } from './driven-history.js';
import type { Item } from './model.js';
import { histories, type Step } from './operation.js';

/**
 * How reads at a time before a change of the catalog fail: SnapshotUnavailable, and StaleChunkHistory for chunks that
 * were not yet there.
 */
const unreadableCodes: readonly unknown[] = [246, 250];

/** The last chunk goes to a shard that still has the document as an orphan of another chunk, which refuses it. */
const moveOntoOrphan: Step[] = [
  { router: 0, operation: { kind: 'split', k: 0 } },
  { router: 0, operation: { kind: 'moveChunk', k: -1, shard: 1 } },
  { router: 0, operation: { kind: 'write', write: { kind: 'insert', id: 1, k: 5, v: 0 } } },
  { router: 0, operation: { kind: 'moveChunk', k: 5, shard: 1 } },
  { router: 0, operation: { kind: 'write', write: { kind: 'moveKey', id: 1, k: -5 } } },
  { router: 0, operation: { kind: 'moveChunk', k: -5, shard: 0 } },
];

describe.each(['5.0', '8.0'] as const)('a history on a sharded collection of %s', (version) => {
  let driven: DrivenHistories;
  beforeAll(async () => {
    driven = await DrivenHistories.start(version);
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  it.each([
    ['a range of one field', { k: 1 }],
    ['a hashed field', { k: 'hashed' }],
    ['two fields', { k: 1, _id: 1 }],
  ])('is what its model says, through any router, now and at every time remembered; key: %s', async (_, key) => {
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        const usable =
          key.k === 'hashed'
            ? steps.filter(({ operation }) => operation.kind !== 'split' && operation.kind !== 'moveChunk')
            : steps;
        const history = await driven.play(usable, key);
        for (const router of [0, 1]) await expectPresent(history, router);
        for (const past of history.remembered) {
          for (const router of [0, 1]) {
            const found = await readAt(history, router, past.time);
            if (found === undefined) expect(past.definitions).toBeLessThan(history.definitions);
            else if (past.definitions === history.definitions) expect(found).toEqual(past.model.documents());
          }
        }
      }),
      { ...runs(8, 120), examples: [[moveOntoOrphan]] },
    );
  });
});

async function expectPresent(history: DrivenHistory, router: number): Promise<void> {
  const expected = history.model.documents();
  const collection = history.collection(router);
  expect(await collection.find().sort({ _id: 1 }).batchSize(3).toArray()).toEqual(expected);
  expect(await collection.countDocuments()).toBe(expected.length);
  expect((await collection.distinct('_id')).sort((a, b) => a - b)).toEqual(expected.map(({ _id }) => _id));
  const [total] = await collection
    .aggregate([{ $group: { _id: null, v: { $sum: '$v' }, most: { $max: '$k' } } }])
    .toArray();
  const v = expected.reduce((sum, item) => sum + (item.v ?? 0), 0);
  expect(total).toEqual(
    expected.length === 0 ? undefined : { _id: null, v, most: Math.max(...expected.map(({ k }) => k)) },
  );
  expect(
    (
      await collection
        .find({ v: { $gte: 3 } })
        .sort({ k: -1, _id: 1 })
        .toArray()
    ).map(({ _id }) => _id),
  ).toEqual(
    expected
      .filter((item) => (item.v ?? 0) >= 3)
      .sort((a, b) => b.k - a.k || a._id - b._id)
      .map(({ _id }) => _id),
  );
}

/** The documents at a time, in the order of `_id`; undefined when the catalog has changed since. */
async function readAt(history: DrivenHistory, router: number, atClusterTime: unknown): Promise<Item[] | undefined> {
  try {
    const command: Document = {
      find: history.coll,
      sort: { _id: 1 },
      batchSize: 1000,
      readConcern: { level: 'snapshot', atClusterTime },
    };
    const client = history.driven.clients[router];
    const reply = await client?.db(history.db).command(command);
    return (reply?.['cursor'] as { firstBatch: Item[] }).firstBatch;
  } catch (error) {
    if (error instanceof MongoServerError && unreadableCodes.includes(error.code)) return undefined;
    throw error;
  }
}
