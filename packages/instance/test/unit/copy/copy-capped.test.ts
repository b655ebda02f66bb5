import { BSON, type Document, Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { systemClock } from '../../../src/async/clock.js';
import type { RawBatch, RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { copyCapped } from '../../../src/copy/copy-capped.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import type { PartitionTable } from '../../../src/store/partition-table.js';
import { batchOf } from '../model/calls.js';
import { bytesOf, changeOf, collectionOf, never, settled } from '../model/parts.js';
import { allWritten } from '../noted-writes.js';
import { routedStream } from '../model/routed-stream.js';
import { copyDeps, cursorClient, wholeTable } from './copy-fixture.js';

const batchDocuments = 2;

/** Copies a capped collection with these documents. @returns its reads, writes and released events */
async function copyOf(
  documents: readonly Document[],
  events: ChangeEvent[] = [],
  answers: WriteOutcome[] = [],
): Promise<{ finds: Document[]; writes: RawWrite[]; inFlightMost: number; state: string; released: ChangeEvent[] }> {
  const rest = documents.map((document) => bytesOf(document));
  const finds: Document[] = [];
  const released: ChangeEvent[] = [];
  const writes: RawWrite[] = [];
  let inFlight = 0;
  let inFlightMost = 0;
  const take = (): RawBatch => batchOf(rest.splice(0, batchDocuments), { operationTime: timestampOf(9n) });
  const { table, partition } = wholeTable(collectionOf({ capped: true, sourceKey: [], destinationKey: [] }));
  const shard = cursorClient(
    take,
    () => rest.length > 0,
    (command) => {
      finds.push(command);
      for (const event of events.splice(0)) partition.buffer(event);
    },
  );
  const write = async (one: RawWrite): Promise<WriteOutcome> => {
    inFlight += 1;
    inFlightMost = Math.max(inFlightMost, inFlight);
    await settled();
    inFlight -= 1;
    writes.push(one);
    return answers.shift() ?? allWritten(one);
  };
  const release = (_table: PartitionTable, buffered: readonly ChangeEvent[]) => void released.push(...buffered);
  const deps = copyDeps({ shard, write, clock: systemClock, stream: routedStream({ release }) });
  await copyCapped({ table, partition, deps, stop: never, hard: never });
  return { finds, writes, inFlightMost, state: partition.state, released };
}

test('a capped collection is read in natural order and written in that order, one insert at a time', async () => {
  const { finds, writes, inFlightMost, state } = await copyOf([5, 3, 4, 1, 2].map((_id) => ({ _id })));
  expect(finds).toMatchObject([{ sort: { $natural: 1 } }]);
  expect(
    writes.map(({ ordered, statements }) => [
      ordered,
      statements.map((bytes) => BSON.deserialize(bytes)._id as number),
    ]),
  ).toEqual([
    [true, [5, 3]],
    [true, [4, 1]],
    [true, [2]],
  ]);
  expect(inFlightMost).toBe(1);
  expect(state).toBe('done');
});

test('documents with Timestamp(0,0), which an insert would change, are upserted in their order', async () => {
  const { writes } = await copyOf([{ _id: 1 }, { _id: 2, at: new Timestamp({ t: 0, i: 0 }) }, { _id: 3 }]);
  const ids = writes.map(({ kind, statements }) => {
    const [statement] = statements.map((bytes) => BSON.deserialize(bytes));
    return [kind, (kind === 'insert' ? statement : (statement?.q as Document))?._id as number];
  });
  expect(ids).toEqual([
    ['insert', 1],
    ['update', 2],
    ['insert', 3],
  ]);
});

test('the copy releases changes of copied documents, and inserts after its last one or its end', async () => {
  const late = changeOf(3, 10n);
  const change = changeOf(1, 7n, { operation: 'update' });
  const { released } = await copyOf(
    [{ _id: 1 }, { _id: 2 }, { _id: 3 }],
    [changeOf(2, 6n), change, changeOf(3, 8n), changeOf(4, 9n), late],
  );
  expect(released.map(({ time }) => time)).toEqual([7n, 9n, 10n]);
});

test('a copied document stays when an older one with its _id was deleted before its insert', async () => {
  const { released } = await copyOf(
    [{ _id: 1 }, { _id: 'A' }, { _id: 3 }],
    [
      changeOf('A', 6n, { operation: 'delete' }),
      changeOf('A', 7n),
      changeOf(3, 8n),
      changeOf(1, 9n, { operation: 'delete' }),
    ],
  );
  expect(released.map(({ time }) => time)).toEqual([9n]);
});

test('the copy restarts when its last document was deleted and inserted again during the read', async () => {
  const { finds } = await copyOf(
    [{ _id: 1 }, { _id: 3 }],
    [changeOf(3, 6n), changeOf(3, 7n, { operation: 'delete' }), changeOf(3, 8n)],
  );
  expect(finds).toHaveLength(2);
});

test('the copy restarts when the outcome of a write is unknown', async () => {
  const { finds, state } = await copyOf(
    [{ _id: 1 }, { _id: 2 }, { _id: 3 }],
    [],
    [{ n: 0, nModified: 0, upserted: 0, failures: [{ index: 0, code: 217, message: '' }] }],
  );
  expect([finds.length, state]).toEqual([2, 'done']);
});
