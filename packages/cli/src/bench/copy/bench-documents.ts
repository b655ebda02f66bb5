import { BSON, type Document, type MongoClient } from 'mongodb';

/** A sharded collection of equally large documents with whole numbers from 0 as `_id`. */
export interface BenchCollection {
  database: string;
  collection: string;
  /** Size of one document. */
  documentBytes: number;
  documents: number;
}

/** Inserts per command: far below the server's limits of 48 MB and 100,000 statements. */
const insertBytes = 4_000_000;
const insertDocumentsMax = 2_000;
const parallelInserts = 4;

/** Creates documents of one size: three small fields, and text for the rest. */
export function documentMaker(documentBytes: number): (id: number) => Document {
  const bare = BSON.calculateObjectSize(benchDocument(0, ''));
  const padding = 'x'.repeat(Math.max(0, documentBytes - bare));
  return (id) => benchDocument(id, padding);
}

function benchDocument(id: number, text: string): Document {
  return { _id: id, group: id % 1_000, value: new BSON.Double(id / 7), text };
}

/** Creates the collection, sharded by hashed `_id` over all shards, and stops the balancer. */
export async function shardByHash(
  client: MongoClient,
  { database, collection }: BenchCollection,
  shards: number,
): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: database });
  await admin.command({
    shardCollection: `${database}.${collection}`,
    key: { _id: 'hashed' },
    numInitialChunks: 2 * shards,
  });
}

/** Inserts all documents of the collection. */
export async function fill(
  client: MongoClient,
  { database, collection, documentBytes, documents }: BenchCollection,
): Promise<void> {
  const target = client.db(database).collection(collection);
  const make = documentMaker(documentBytes);
  const perInsert = Math.min(insertDocumentsMax, Math.max(1, Math.floor(insertBytes / documentBytes)));
  let next = 0;
  const worker = async () => {
    while (next < documents) {
      const from = next;
      next += perInsert;
      await target.insertMany(
        Array.from({ length: Math.min(perInsert, documents - from) }, (_, index) => make(from + index)),
        { ordered: false },
      );
    }
  };
  await Promise.all(Array.from({ length: parallelInserts }, worker));
}
