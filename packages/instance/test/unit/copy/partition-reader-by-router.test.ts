import type { Document, Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { NodeClient, RawBatch, RawCursor } from '../../../src/cluster/node-client.js';
import { PartitionReader } from '../../../src/copy/partition-reader.js';
import { idOf } from '../../../src/copy/partition-writer.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { isInRange } from '../id-range.js';
import { batchOf, serverError } from '../model/calls.js';
import { bytesOf, collectionOf, never, times } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';
import { copyDeps } from './copy-fixture.js';

/** Documents of two shards in `_id` order; 2 and 3 are on both. */
const documents = [
  [1, 'a'],
  [2, 'a'],
  [2, 'b'],
  [3, 'b'],
  [3, 'a'],
  [4, 'b'],
].map(([_id, sk]) => bytesOf({ _id, sk }));
/** Operation times of the replies: those of a router come from one shard and another. */
const replyTimes = [30n, 60n, 40n, 50n];

/** A router whose cursor is lost after a number of batches; a reopened one returns equal `_id`s in the other order. */
function routerLosing(batchDocuments: number, batchesBefore: number) {
  const finds: Document[] = [];
  const openCursor = (_database: string, command: Document): Promise<RawCursor> => {
    finds.push(command);
    const ordered =
      finds.length === 1 ? documents : [...documents].reverse().sort((a, b) => compareRaw(idOf(a), idOf(b)));
    const rest = ordered.filter((document) => isInRange(idOf(document), command));
    const { atClusterTime } = command.readConcern as { atClusterTime: Timestamp };
    let batches = 0;
    const take = (): RawBatch => {
      const operationTime = timestampOf(replyTimes[batches % replyTimes.length] ?? 0n);
      batches += 1;
      return batchOf(rest.splice(0, batchDocuments), { atClusterTime, operationTime });
    };
    const next = (): Promise<RawBatch> =>
      finds.length === 1 && batches > batchesBefore ? Promise.reject(serverError(43)) : Promise.resolve(take());
    return Promise.resolve({
      first: take(),
      next,
      close: () => Promise.resolve(),
      get open() {
        return rest.length > 0;
      },
    });
  };
  return { finds, client: clientWith({ openCursor }) };
}

async function readAll(client: NodeClient): Promise<{ seen: string[]; readEnd: bigint }> {
  const collection = collectionOf({ readBy: 'name' });
  const [partition] = PartitionTable.fresh(collection, [], () => Promise.resolve()).partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  const deps = copyDeps({ shard: client, retrying: times(2) });
  const reader = new PartitionReader(collection, partition, deps, 20n);
  const seen: string[] = [];
  for (let batch = await reader.next(never); batch !== null; batch = await reader.next(never))
    seen.push(...batch.map((document) => Buffer.from(document).toString('hex')));
  return { seen, readEnd: reader.readEnd };
}

test.each([
  [1, 0],
  [1, 1],
  [1, 2],
  [1, 3],
  [2, 0],
  [2, 1],
  [3, 0],
  [4, 0],
])(
  'batches of %i, cursor lost after %i more: both documents of one _id are read, whichever comes first',
  async (batchDocuments, batchesBefore) => {
    const { client, finds } = routerLosing(batchDocuments, batchesBefore);
    const { seen, readEnd } = await readAll(client);
    // The lost cursor, the reopened one, and the one for MaxKey.
    expect(finds).toHaveLength(3);
    expect(finds.every(({ find }) => find === 'orders')).toBe(true);
    expect(new Set(seen)).toEqual(new Set(documents.map((document) => Buffer.from(document).toString('hex'))));
    // Only the documents of the last _id come twice.
    expect(seen.length - documents.length).toBeLessThanOrEqual(2);
    expect(readEnd).toBeGreaterThanOrEqual(30n);
  },
);

test('a read ends at the highest time of any reply', async () => {
  const { client } = routerLosing(2, 99);
  expect((await readAll(client)).readEnd).toBe(60n);
});
