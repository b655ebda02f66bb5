import { BSON, type Document, type MongoClient } from 'mongodb';

/** The collection that benchmarks work on. */
export const benchNamespace = { database: 'bench', collection: 'documents' } as const;

const batchDocuments = 1_000;
const parallelBatches = 4;
/** Makes a document 1 KB long. */
const padding = 'x'.repeat(930);

/** One document of 1 KB. */
export function benchDocument(id: number): Document {
  return { _id: id, group: id % 1_000, value: id / 7, text: padding };
}

export const benchDocumentBytes = BSON.calculateObjectSize(benchDocument(0));

/** Creates the collection, sharded by hashed `_id` over all shards. */
export async function shardBenchCollection(client: MongoClient, shards: number): Promise<void> {
  const admin = client.db('admin');
  const { database, collection } = benchNamespace;
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: database });
  await admin.command({ shardCollection: `${database}.${collection}`, key: { _id: 'hashed' }, numInitialChunks: 2 * shards });
}

/** Inserts `count` documents. */
export async function fillBenchCollection(client: MongoClient, count: number): Promise<void> {
  const target = client.db(benchNamespace.database).collection(benchNamespace.collection);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const from = next;
      next += batchDocuments;
      await target.insertMany(Array.from({ length: Math.min(batchDocuments, count - from) }, (_, index) => benchDocument(from + index)), { ordered: false });
    }
  };
  await Promise.all(Array.from({ length: parallelBatches }, worker));
}
