import { Binary, BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { EventQueue } from '../../../src/apply/apply-workers.js';
import { composeBatch, HotDocuments } from '../../../src/apply/write-batch.js';
import { sendBatch } from '../../../src/apply/send-batch.js';
import { idClass } from '../../../src/bson/id.js';
import type { RawWrite } from '../../../src/cluster/node-client.js';
import { assertWithinLimits, bulkBytesMax } from '../../../src/cluster/driver/write-command.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import { type RereadRequest, RereadSet } from '../../../src/store/reread-set.js';
import { bytesOf, changeOf, collectionOf, insertOf, never, updateOf, withUndefined } from '../model/parts.js';
import { NotedWrites } from '../noted-writes.js';

const collection = collectionOf();

let rereadRequests: RereadRequest[];

/** The bulk writes of some events, batch by batch. */
async function writesOf(events: readonly ChangeEvent[]): Promise<RawWrite[]> {
  const writes = new NotedWrites();
  const budget = new ByteBudget(1);
  const rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget);
  const queue = new EventQueue();
  for (const event of events)
    queue.push({
      event,
      collection,
      workerClass: idClass(event.id, false),
      bounds: { watermark: 0n, readEnd: null },
      purpose: 'apply',
    });
  rereadRequests = [];
  while (queue.length > 0)
    rereadRequests.push(
      ...(await sendBatch(
        composeBatch(queue, { rereads, budget, hot: new HotDocuments({ monotonic_ms: () => 0 }) }),
        { writer: writes, findPresent: () => Promise.resolve(null) },
        never,
      )),
    );
  return writes.sent;
}

/** A document of the maximal size. */
const largest = bytesOf({ _id: 0, sk: 1, text: new Binary(new Uint8Array(16 * 2 ** 20 - 33)) });

it.each(['insert', 'replace'] as const)(
  'batches of documents of 16 MB, each by %s, are within the limits of servers',
  async (operation) => {
    expect(largest.length).toBe(16 * 2 ** 20);
    const small = Array.from({ length: 50 }, (_, n) => insertOf(`small ${n}`, BigInt(n + 1)));
    const large = Array.from({ length: 6 }, (_, n) =>
      changeOf(n, BigInt(100 + n), { operation, fullDocument: largest, bytes: largest.length + 400 }),
    );
    const writes = await writesOf([...small, ...large]);
    for (const { statements } of writes) assertWithinLimits(statements);
    expect(writes.flatMap(({ statements }) => statements)).toHaveLength(small.length + large.length);
  },
);

it('batches of large updates are within the limits of servers', async () => {
  const text = 'x'.repeat(3_900_000);
  const events = Array.from({ length: 20 }, (_, n) =>
    updateOf(n, BigInt(n + 1), { text }, { bytes: text.length + 400 }),
  );
  const writes = await writesOf(events);
  for (const { statements } of writes) assertWithinLimits(statements);
  expect(writes.length).toBeGreaterThan(1);
});

it('batches of updates that are many times larger than their events are within the limits of servers', async () => {
  // `$inc` of `items.$[].quantity`, as servers report it from 6.1.
  const changed = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`items.${n}.quantity`, 1]));
  const updateDescription = bytesOf({
    updatedFields: changed,
    removedFields: [],
    truncatedArrays: [],
    disambiguatedPaths: {},
  });
  const events = Array.from({ length: 1_000 }, (_, n) =>
    changeOf(n, BigInt(n + 1), { operation: 'update', updateDescription, bytes: updateDescription.length + 900 }),
  );
  const writes = await writesOf(events);
  for (const { statements } of writes) assertWithinLimits(statements);
  const bytes = writes.map(({ statements }) => statements.reduce((sum, statement) => sum + statement.length, 0));
  expect(Math.max(...bytes)).toBeLessThanOrEqual(bulkBytesMax);
  expect(bytes.reduce((sum, one) => sum + one)).toBeGreaterThan(48_000_000);
  expect(writes.flatMap(({ statements }) => statements)).toHaveLength(events.length);
});

it('a statement larger than a command is not sent, its document is re-read', async () => {
  const update = updateOf('i'.repeat(13_000_000), 1n, { text: 'x'.repeat(3_900_000) });
  const key = 'i'.repeat(20_000);
  const upsert = changeOf(key, 2n, {
    operation: 'replace',
    fullDocument: bytesOf({ _id: key, sk: 1, text: new Binary(new Uint8Array(16 * 2 ** 20 - 20_100)) }),
  });
  const writes = await writesOf([update, upsert, insertOf('small', 3n)]);
  expect(writes.map(({ kind }) => kind)).toEqual(['insert']);
  expect(rereadRequests.map(({ reason }) => reason)).toEqual(['largeStatement', 'largeStatement']);
});

it('a document whose shard key no upsert can name is re-read; others match it by the type of its value', async () => {
  const fullDocument = withUndefined({ _id: 1, sk: null });
  const documentKey = withUndefined({ sk: null, _id: 2 });
  const writes = await writesOf([
    changeOf(1, 1n, { operation: 'replace', fullDocument, documentKey: withUndefined({ sk: null, _id: 1 }) }),
    changeOf(2, 2n, { operation: 'delete', documentKey }),
  ]);
  expect(rereadRequests.map(({ reason }) => reason)).toEqual(['undefinedShardKey']);
  expect(writes.map(({ statements }) => statements.map((statement) => BSON.deserialize(statement)))).toEqual([
    [{ q: { sk: { $type: 6 }, _id: 2 }, limit: 1 }],
  ]);
});

it('batches of many small changes have far fewer than 100,000 statements', async () => {
  const writes = await writesOf(Array.from({ length: 12_000 }, (_, n) => insertOf(n, BigInt(n + 1))));
  for (const { statements } of writes) expect(statements.length).toBeLessThanOrEqual(10_000);
});
