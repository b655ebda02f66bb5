import type { Document, Timestamp } from 'mongodb';
import { beforeEach, expect, test } from 'vitest';
import { elementType } from '../../../src/bson/element-type.js';
import { encodeValue, maxKey, minKey, RawValue } from '../../../src/bson/scan.js';
import type { RawBatch } from '../../../src/cluster/node-client.js';
import { PartitionReader } from '../../../src/copy/partition-reader.js';
import { idOf } from '../../../src/copy/partition-writer.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { isInRange } from '../id-range.js';
import { batchOf, serverError } from '../model/calls.js';
import { bytesOf, collectionOf } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';
import { copyDeps } from './copy-fixture.js';

const { signal } = new AbortController();
const batchDocuments = 3;

/** A DBPointer, which the driver cannot send: a string with its length, and 12 bytes. */
function pointer(n: number): RawValue {
  return new RawValue(
    elementType.dbPointer,
    Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.from('a\0'), Buffer.alloc(12, n)]),
  );
}

function documentUnder({ type, bytes }: RawValue): Uint8Array {
  const body = Buffer.concat([Buffer.alloc(4), Buffer.from([type]), Buffer.from('_id\0'), bytes, Buffer.from([0])]);
  body.writeInt32LE(body.length);
  return body;
}

/** In `_id` order: numbers, DBPointers, MaxKey. */
const documents = [
  ...[1, 2, 3, 4].map((_id) => bytesOf({ _id })),
  ...[1, 2, 3, 4, 5, 6].map((n) => documentUnder(pointer(n))),
  documentUnder(maxKey),
];
let loseCursorAfter: number[];

function openCursor(_database: string, command: Document) {
  const rest = documents.filter((document) => isInRange(idOf(document), command));
  const { atClusterTime } = command.readConcern as { atClusterTime: Timestamp };
  const take = (): RawBatch => batchOf(rest.splice(0, batchDocuments), { atClusterTime });
  let batches = 1;
  const next = (): Promise<RawBatch> => {
    const isLost = loseCursorAfter[0] === batches;
    batches += 1;
    if (!isLost) return Promise.resolve(take());
    loseCursorAfter.shift();
    return Promise.reject(serverError(43));
  };
  return Promise.resolve({
    first: take(),
    next,
    close: () => Promise.resolve(),
    get open() {
      return rest.length > 0;
    },
  });
}

/** Retries every failure, as the instance does for lost cursors. */
async function retrying<T>(_what: string, run: () => Promise<T>): Promise<T> {
  return run().catch(() => run());
}

async function readAll(lower: RawValue, upper: RawValue): Promise<RawValue[]> {
  const collection = { ...collectionOf(), owns: () => true };
  const table = PartitionTable.fresh(collection, [], () => Promise.resolve(), { lower, upper });
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  const deps = copyDeps({ shard: clientWith({ openCursor }), retrying });
  const reader = new PartitionReader(collection, partition, deps, 20n);
  const ids: RawValue[] = [];
  for (let batch = await reader.next(signal); batch !== null; batch = await reader.next(signal))
    ids.push(...batch.map(idOf));
  return ids;
}

const idsOf = (from: number, to: number): RawValue[] => documents.slice(from, to).map(idOf);

beforeEach(() => {
  loseCursorAfter = [];
});

test.each([
  ['whole', minKey, maxKey, 0, 11],
  ['up to a value that cannot be sent', minKey, pointer(3), 0, 6],
  ['from a value that cannot be sent', pointer(3), maxKey, 6, 11],
  ['from a number', encodeValue(3), maxKey, 2, 11],
  ['from MaxKey', maxKey, maxKey, 10, 11],
  ['between values that cannot be sent', pointer(2), pointer(5), 5, 8],
  ['from a number to a value that cannot be sent', encodeValue(3), pointer(4), 2, 7],
] as const)(
  'every document of a partition is read once, with lost cursors too: %s',
  async (_what, lower, upper, from, to) => {
    expect(await readAll(lower, upper)).toEqual(idsOf(from, to));
    for (const lost of [[1], [2], [1, 1], [2, 1], [1, 2, 1]]) {
      loseCursorAfter = lost;
      expect(await readAll(lower, upper)).toEqual(idsOf(from, to));
    }
  },
);
