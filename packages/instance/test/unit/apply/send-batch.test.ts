import { BSON, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { EventQueue } from '../../../src/apply/apply-workers.js';
import { composeBatch, HotDocuments, type WriteBatch } from '../../../src/apply/write-batch.js';
import { sendBatch } from '../../../src/apply/send-batch.js';
import { idClass } from '../../../src/bson/id.js';
import { decodeValue, type RawValue } from '../../../src/bson/scan.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { bytesOf, changeOf, collectionOf, insertOf, never, updateOf } from '../model/parts.js';

const capped = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
let queue: EventQueue;
let sent: RawWrite[];
let answers: Partial<WriteOutcome>[];
/** `_id`s of the documents on the destination; null when a query cannot find out. */
let present: number[] | null;

beforeEach(() => {
  queue = new EventQueue();
  [sent, answers, present] = [[], [], null];
});

function route(collection: SyncedCollection, ...events: ChangeEvent[]): void {
  for (const event of events) {
    queue.push({
      event,
      collection,
      workerClass: idClass(event.id, collection.collated),
      bounds: { watermark: 0n, readEnd: null },
      purpose: 'apply',
    });
  }
}

function compose(): WriteBatch {
  const budget = new ByteBudget(1000);
  const rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget);
  return composeBatch(queue, { rereads, budget, hot: new HotDocuments({ monotonic_ms: () => 0 }) });
}

function send(batch: WriteBatch): ReturnType<typeof sendBatch> {
  const write = (one: RawWrite): Promise<WriteOutcome> => {
    sent.push(one);
    return Promise.resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [], ...answers.shift() });
  };
  return sendBatch(
    batch,
    {
      writer: { write },
      findPresent: (_collection, items) =>
        Promise.resolve(present === null ? null : new Set(items.filter(({ id }) => isPresent(id)))),
    },
    never,
  );
}

function isPresent(id: RawValue): boolean {
  return present?.some((one) => one === Number(decodeValue(id))) === true;
}

function statementsOf(write: RawWrite | undefined): Document[] {
  return (write?.statements ?? []).map((bytes) => BSON.deserialize(bytes));
}

describe('a refused delta', () => {
  it.each([28, 29])('is re-read: code %i', async (code) => {
    route(collectionOf(), updateOf(1, 1n, { a: 1 }), updateOf(2, 2n, { a: 1 }));
    answers = [{ n: 1, failures: [{ index: 1, code, message: '' }] }];
    expect(await send(compose())).toMatchObject([{ reason: 'inexactDelta', time: 2n }]);
  });
});

describe('deltas that add fields', () => {
  const adding = (id: number, time: bigint, diff: Document): ChangeEvent =>
    changeOf(id, time, { operation: 'update', updateDescription: bytesOf({ $v: 2, diff }) });
  const added = (): void => {
    route(collectionOf(), adding(1, 1n, { i: { b: 2 } }), updateOf(2, 2n, { a: 1 }), adding(3, 3n, { i: { b: 3 } }));
  };

  it('are operators for documents that have none of them', async () => {
    added();
    expect(await send(compose())).toEqual([]);
    expect(sent.map(({ statements }) => statements.length)).toEqual([2, 1]);
    expect(statementsOf(sent[0])).toMatchObject([
      { q: { _id: 1, b: { $exists: false } }, u: { $set: { b: 2 } } },
      { q: { _id: 3, b: { $exists: false } }, u: { $set: { b: 3 } } },
    ]);
  });

  it('are sent again as pipelines when one of the documents does not match', async () => {
    added();
    answers = [{ n: 1 }];
    expect(await send(compose())).toEqual([]);
    expect(statementsOf(sent.at(-1)).map(({ q, u }) => [q, Array.isArray(u)] as unknown)).toEqual([
      [{ sk: 1, _id: 1 }, true],
      [{ sk: 1, _id: 3 }, true],
    ]);
  });

  it('are re-read when the document is missing, or the destination refuses the change', async () => {
    added();
    answers = [{ n: 0, failures: [{ index: 0, code: 28, message: '' }] }, {}, { n: 0 }];
    present = [];
    const requested = (await send(compose())).map(({ id, reason }) => [Number(decodeValue(id)), reason]);
    expect(requested).toEqual([
      [1, 'inexactDelta'],
      [3, 'unmatchedDelta'],
    ]);
    expect(statementsOf(sent.at(-1)).map(({ q }) => q as unknown)).toEqual([{ sk: 1, _id: 3 }]);
  });

  it('are pipelines in a capped collection, whose commands are ordered', async () => {
    route(capped, adding(1, 1n, { i: { b: 2 } }));
    await send(compose());
    expect(statementsOf(sent[0])).toMatchObject([{ q: { _id: 1 }, u: [{ $replaceWith: {} }, { $set: {} }] }]);
  });
});

describe("a statement that the destination's state refuses", () => {
  const unsharded = { sourceKey: [], destinationKey: [] };
  const refused = async (changes: Partial<SyncedCollection>, code: number): Promise<unknown[]> => {
    route(collectionOf(changes), insertOf('a', 1n));
    answers = [{ n: 0, failures: [{ index: 0, code, message: '' }] }];
    return (await send(compose())).map(({ reason, time }) => [reason, time]);
  };

  it.each([16755, 171, 16766, 13027])('is re-read when an index refuses the document: code %i', async (code) => {
    expect(await refused({}, code)).toEqual([['indexKeys', 1n]]);
  });

  it('is re-read when its outcome is unknown', async () => {
    expect(await refused({}, 217)).toEqual([['unknownOutcome', 1n]]);
  });

  it("is re-read when the collection's collation matches a document with another _id", async () => {
    expect(await refused({ ...unsharded, collated: true }, 66)).toEqual([['duplicateKey', 1n]]);
  });

  it.each([
    ['no collation finds another _id', unsharded, 66],
    ['the collection is capped, where no re-read restores a position', { ...unsharded, capped: true }, 171],
    ['the collection is capped and nobody knows whether it was carried out', { ...unsharded, capped: true }, 217],
  ])('ends the migration when %s', async (_why, changes, code) => {
    await expect(refused(changes, code)).rejects.toMatchObject({ error: 'writeRefused' });
  });
});

describe('a bulk with unmatched deltas', () => {
  const requested = async (changes: Partial<SyncedCollection> = {}): Promise<unknown[]> => {
    route(collectionOf(changes), updateOf(1, 1n, { a: 1 }), updateOf(2, 2n, { a: 1 }), updateOf(3, 3n, { a: 1 }));
    return (await send(compose())).map(({ id, reason, time }) => [Number(decodeValue(id)), reason, time]);
  };
  const all = [
    [1, 'unmatchedDelta', 1n],
    [2, 'unmatchedDelta', 2n],
    [3, 'unmatchedDelta', 3n],
  ];

  it('re-reads those whose documents are missing', async () => {
    answers = [{ n: 2 }];
    present = [1, 3];
    expect(await requested()).toEqual([all[1]]);
  });

  it('re-reads a failed one as well', async () => {
    answers = [{ n: 1, failures: [{ index: 0, code: 28, message: '' }] }];
    present = [3];
    expect(await requested()).toEqual([[1, 'inexactDelta', 1n], all[1]]);
  });

  it.each([
    ['more are missing than are unmatched', [1]],
    ['fewer are missing', [1, 2, 3]],
    ['a query cannot find out', null],
  ])('re-reads all of them when %s', async (_what, ids) => {
    answers = [{ n: 2 }];
    present = ids;
    expect(await requested()).toEqual(all);
  });

  it('re-reads all of a capped collection', async () => {
    answers = [{ n: 2 }];
    present = [1, 3];
    expect(await requested({ capped: true })).toEqual(all);
  });
});

describe('an ordered command', () => {
  it('of a capped collection continues behind a duplicate key', async () => {
    route(capped, insertOf(1, 1n), insertOf(2, 2n), insertOf(3, 3n));
    answers = [{ n: 1, failures: [{ index: 1, code: 11000, message: '' }] }];
    expect(await send(compose())).toMatchObject([{ reason: 'duplicateKey', time: 2n }]);
    expect(sent.map((write) => [write.ordered, statementsOf(write).map(({ _id }) => _id as number)])).toEqual([
      [true, [1, 2, 3]],
      [true, [3]],
    ]);
  });
});

it('a batch is bounded in bytes', () => {
  const large = 3 * 2 ** 20;
  route(collectionOf(), ...[1, 2, 3, 4, 5].map((id) => ({ ...insertOf(id, BigInt(id)), bytes: large })));
  expect(compose().items).toHaveLength(3);
  expect(compose().items).toHaveLength(2);
});

it('filters of a sharded collection with a collation name the simple one', async () => {
  const collated = collectionOf({ collated: true });
  route(collated, updateOf('a', 1n, { x: 1 }));
  await send(compose());
  route(collated, changeOf('a', 2n, { operation: 'delete' }));
  await send(compose());
  expect(sent.flatMap(statementsOf).map(({ collation }) => collation as unknown)).toEqual([
    { locale: 'simple' },
    { locale: 'simple' },
  ]);
});
