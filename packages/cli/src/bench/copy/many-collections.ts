import type { MongoClient } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { documentMaker } from './bench-documents.js';

/** Spreads collections over databases as users do, and databases over the shards. */
const collectionsPerDatabase = 100;
const parallel = 8;

/** Equal unsharded collections with `documents` documents in total. */
export interface ManyCollections {
  collections: number;
  documents: number;
  documentBytes: number;
}

export interface NamedCollection {
  database: string;
  collection: string;
  documents: number;
}

/** Their names and document counts. */
export function namedCollections({ collections, documents }: ManyCollections): NamedCollection[] {
  return Array.from({ length: collections }, (_, index) => ({
    database: `bench${Math.floor(index / collectionsPerDatabase)}`,
    collection: `collection${index}`,
    documents: Math.floor((documents * (index + 1)) / collections) - Math.floor((documents * index) / collections),
  }));
}

/** Creates them; the primary shards of their databases alternate. */
export async function makeCollections(
  client: MongoClient,
  { kind, shardIds }: Pick<TestCluster, 'kind' | 'shardIds'>,
  wanted: ManyCollections,
): Promise<void> {
  const all = namedCollections(wanted);
  if (kind === 'sharded') await makeDatabases(client, shardIds, [...new Set(all.map(({ database }) => database))]);
  const make = documentMaker(wanted.documentBytes);
  await inParallel(all, async ({ database, collection, documents }) => {
    for (let from = 0; from < documents; from += 1_000) {
      const batch = Array.from({ length: Math.min(1_000, documents - from) }, (_, index) => make(from + index));
      await client.db(database).collection(collection).insertMany(batch, { ordered: false });
    }
  });
}

async function makeDatabases(
  client: MongoClient,
  shardIds: readonly string[],
  names: readonly string[],
): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ balancerStop: 1 });
  for (const [index, name] of names.entries())
    await admin.command({ enableSharding: name, primaryShard: shardIds[index % shardIds.length] });
}

/**
 * The minimal command round trips of copying a collection, with the engine's concurrency: `listIndexes` and `find` on
 * the source, `create` and `insert` on the destination.
 * @returns seconds for all of them
 */
export async function copyBarely(
  source: MongoClient,
  destination: MongoClient,
  wanted: ManyCollections,
): Promise<number> {
  const begin = performance.now();
  await inParallel(namedCollections(wanted), async ({ database, collection }) => {
    const from = source.db(database);
    await from.command({ listIndexes: collection });
    await destination.db(database).command({ create: collection, writeConcern: { w: 'majority' } });
    const target = destination.db(database).collection(collection);
    const documents = await from.collection(collection).find({}, { batchSize: 1_000 }).toArray();
    for (let at = 0; at < documents.length; at += 1_000)
      await target.insertMany(documents.slice(at, at + 1_000), { ordered: false, writeConcern: { w: 'majority' } });
  });
  return (performance.now() - begin) / 1000;
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let item = items[next]; item !== undefined; item = items[next]) {
      next += 1;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
}
