import type { MongoClient } from 'mongodb';
import { mapBounded } from '@convoy/instance/async/together';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { documentMaker, inBatches } from './bench-documents.js';

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
  await mapBounded(all, parallel, async ({ database, collection, documents }) => {
    const target = client.db(database).collection(collection);
    await inBatches(documents, 1_000, 1, async (ids) => {
      await target.insertMany(ids.map(make), { ordered: false });
    });
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
  await mapBounded(namedCollections(wanted), parallel, async ({ database, collection }) => {
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
