import { BSON, type Document, type MongoClient } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';
import { mapBounded } from '@convoy/instance/async/together';

/** A collection of equally large documents with whole numbers from 0 as `_id`. */
export interface BenchCollection {
  database: string;
  collection: string;
  /** Size of one document. */
  documentBytes: number;
  documents: number;
  /** One letter for all text by default; varied text compresses as little as that of users. */
  text?: 'varied';
}

/** The collection of most benchmarks. */
export const benchNamespace = { database: 'bench', collection: 'documents' } as const;

/** Size of the documents where a benchmark has one size. */
export const benchDocumentBytes = 1_000;

/** Inserts per command: far below the server's limits of 48 MB and 100,000 statements. */
const insertBytes = 4_000_000;
const insertDocumentsMax = 2_000;
const parallelInserts = 4;

/** Varied text of documents starts anywhere in a text of this length, so that neighbours share nothing. */
const variedLength = 1_000_000;

/** Creates documents of one size: three small fields, and text for the rest. */
export function documentMaker(documentBytes: number, text?: BenchCollection['text']): (id: number) => Document {
  const bare = BSON.calculateObjectSize(documentOf(0, ''));
  const length = Math.max(0, documentBytes - bare);
  if (text === undefined) {
    const padding = 'x'.repeat(length);
    return (id) => documentOf(id, padding);
  }
  const pool = variedText(variedLength + length);
  return (id) => {
    const from = (Math.imul(id, 0x9e3779b1) >>> 0) % variedLength;
    return documentOf(id, pool.slice(from, from + length));
  };
}

function variedText(length: number): string {
  const random = new Random(1);
  let text = '';
  while (text.length < length) text += random.next().toString(36).slice(2);
  return text.slice(0, length);
}

function documentOf(id: number, text: string): Document {
  return { _id: id, group: id % 1_000, value: new BSON.Double(id / 7), text };
}

/** One document of that size. */
export const benchDocument = documentMaker(benchDocumentBytes);

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
  { database, collection, documentBytes, documents, text }: BenchCollection,
): Promise<void> {
  const target = client.db(database).collection(collection);
  const make = documentMaker(documentBytes, text);
  const perInsert = Math.min(insertDocumentsMax, Math.max(1, Math.floor(insertBytes / documentBytes)));
  await inBatches(documents, perInsert, parallelInserts, async (ids) => {
    await target.insertMany(ids.map(make), { ordered: false });
  });
}

/** Sends the whole numbers below `count` in batches, at most `parallel` at a time. */
export async function inBatches(
  count: number,
  batchMax: number,
  parallel: number,
  send: (ids: number[]) => Promise<void>,
): Promise<void> {
  const starts = Array.from({ length: Math.ceil(count / batchMax) }, (_, index) => index * batchMax);
  await mapBounded(starts, parallel, (from) =>
    send(Array.from({ length: Math.min(batchMax, count - from) }, (_, index) => from + index)),
  );
}
