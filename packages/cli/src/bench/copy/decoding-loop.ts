import { type Collection, type Document, MongoClient } from 'mongodb';
import { loopBatchDocuments, type LoopOrder, rangesOf } from './loop-order.js';

/** Documents per insert command, below the message limit of 48 MB. */
const insertBytesMax = 16_000_000;

/** The bare loop with the driver's public API only: it decodes documents into objects and encodes them again. */
export function openDecodingLoop(order: LoopOrder): Promise<() => Promise<number>> {
  const { database, collection, documents } = order.collection;
  const clients = order.sourceShards.map((connectionString) => new MongoClient(connectionString));
  const target = new MongoClient(order.destination).db(database).collection(collection);
  const ranges = rangesOf(documents, order.concurrency.readersPerShard);
  return Promise.resolve(async () => {
    const copies = clients.flatMap((client) =>
      ranges.map((range) => copyRange(client.db(database).collection(collection), target, range, order)),
    );
    return (await Promise.all(copies)).reduce((sum, copied) => sum + copied, 0);
  });
}

async function copyRange(
  source: Collection,
  target: Collection,
  [min, max]: [number, number],
  order: LoopOrder,
): Promise<number> {
  const batchDocuments = Math.min(
    loopBatchDocuments,
    Math.max(1, Math.floor(insertBytesMax / order.collection.documentBytes)),
  );
  const cursor = source.find({}, { hint: { _id: 1 }, min: { _id: min }, max: { _id: max }, batchSize: batchDocuments });
  const writes: Promise<unknown>[] = [];
  let batch: Document[] = [];
  let copied = 0;
  const send = async () => {
    if (batch.length === 0) return;
    writes.push(target.insertMany(batch, { ordered: false, writeConcern: { w: 'majority' } }));
    copied += batch.length;
    batch = [];
    if (writes.length >= order.concurrency.writesPerReader) await writes.shift();
  };
  for await (const document of cursor) {
    batch.push(document);
    if (batch.length >= batchDocuments) await send();
  }
  await send();
  await Promise.all(writes);
  return copied;
}
