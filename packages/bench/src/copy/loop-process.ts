import { BSON } from 'mongodb';
import { measureOwn, printResult } from '../own-usage.js';
import type { LoopOrder, LoopRange } from './loop-order.js';
import type { NodeClient } from '@convoy/instance/cluster/node-client';
import { openCluster } from '@convoy/instance/cluster/open-cluster';

/** Documents per batch and per insert command; a reply also ends at 16 MB. */
const batchDocuments = 1_000;

/**
 * The minimal copy: reads each shard in `_id` order, several ranges at once, and inserts the raw bytes through the same
 * driver. It has no state, no order between ranges, and ignores changes.
 */
async function openRawLoop(order: LoopOrder): Promise<() => Promise<number>> {
  const { signal } = new AbortController();
  const source = await openCluster('cluster0', order.source, { direct: true, signal });
  const destination = await openCluster('cluster1', order.destination, { direct: false, signal });
  return async () => {
    const copies = source.shardIds.flatMap((id) =>
      order.ranges.map((range) => copyRange(source.shard(id), destination.router, range, order, signal)),
    );
    return (await Promise.all(copies)).reduce((sum, documents) => sum + documents, 0);
  };
}

async function copyRange(
  shard: NodeClient,
  router: NodeClient,
  [min, max]: LoopRange,
  order: LoopOrder,
  signal: AbortSignal,
): Promise<number> {
  const { database, collection } = order;
  const range = { hint: { _id: 1 }, min: { _id: min }, max: { _id: max }, batchSize: batchDocuments };
  const cursor = await shard.openCursor(database, { find: collection, ...range }, { signal });
  const writes: Promise<unknown>[] = [];
  let documents = 0;
  for (let batch = cursor.first; ; batch = await cursor.next({ signal })) {
    documents += batch.documents.length;
    if (batch.documents.length > 0)
      writes.push(
        router.write({ database, collection, kind: 'insert', statements: batch.documents, ordered: false }, null, {
          signal,
        }),
      );
    if (writes.length >= order.writesPerReader) await writes.shift();
    if (!cursor.open) break;
  }
  await Promise.all(writes);
  return documents;
}

/** Runs one order in its own process: `node loop-process.js ORDER`. Its result is a `RunUsage`. */
const order = BSON.EJSON.parse(process.argv[2] ?? '') as LoopOrder;
const copy = await openRawLoop(order);
printResult(
  await measureOwn(async () => {
    const copied = await copy();
    if (copied !== order.documents) throw new Error(`The loop copied ${copied} of ${order.documents} documents.`);
  }),
);
