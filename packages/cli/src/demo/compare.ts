import type { Document, MongoClient } from 'mongodb';
import { compareCatalogs, type ComparedCollection, type NameThere } from './compare-catalogs.js';
import { compareDocuments } from './compare-documents.js';

/** Result of comparing two clusters. */
export interface Comparison {
  equal: boolean;
  collections: number;
  documents: number;
  bytes: number;
  /** The first differences, each a sentence with namespaces and `_id`s. */
  differences: string[];
}

/** Maximum described differences; counting stops there too. */
export const differencesMax = 20;

/**
 * Compares all user data of two clusters: collections and views with their options, indexes and shard keys, and every
 * document byte for byte. Plain driver code that shares nothing with the engine. Both clusters must be idle.
 * @param namespaces compares only these when given (`database.collection`)
 * @param nameThere the names on the destination where they are other ones
 */
export async function compareClusters(
  source: MongoClient,
  destination: MongoClient,
  namespaces?: ReadonlySet<string>,
  nameThere?: NameThere,
): Promise<Comparison> {
  const catalogs = await compareCatalogs(source, destination, namespaces, nameThere);
  const comparison: Comparison = {
    equal: true,
    collections: catalogs.collections.length,
    documents: 0,
    bytes: 0,
    differences: catalogs.differences,
  };
  for (const collection of catalogs.collections) {
    if (comparison.differences.length >= differencesMax) break;
    const outcome = await compareDocuments(
      rawReader(source, collection),
      rawReader(destination, { ...collection, ...collection.there }),
      collection.capped,
    );
    comparison.documents += outcome.documents;
    comparison.bytes += outcome.bytes;
    comparison.differences.push(
      ...outcome.differences.map((difference) => `${collection.database}.${collection.name}: ${difference}`),
    );
  }
  comparison.differences.splice(differencesMax);
  comparison.equal = comparison.differences.length === 0;
  return comparison;
}

/** All documents as bytes, in `_id` order. Capped collections are read in insertion order, which must be equal too. */
function rawReader(client: MongoClient, { database, name, capped }: ComparedCollection): AsyncIterable<Uint8Array> {
  const cursor = client
    .db(database)
    .collection(name)
    .find<Document>({}, { raw: true, batchSize: 5_000, readConcern: { level: 'majority' } })
    .sort(capped ? { $natural: 1 } : { _id: 1 });
  return cursor as unknown as AsyncIterable<Uint8Array>;
}
