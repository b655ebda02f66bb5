import type { Document, MongoClient } from 'mongodb';
import { expect } from 'vitest';
import type { Fixture } from '../contract/fixture.js';

/**
 * All of a database: definitions without UUIDs, indexes, and documents as text of their bytes, capped ones in their
 * order.
 */
async function everything(client: MongoClient, database: string): Promise<Document> {
  const db = client.db(database);
  const found: Document = {};
  for (const { name, type, options } of await db
    .listCollections<{ name: string; type: string; options: Document }>({}, { nameOnly: false })
    .toArray()) {
    if (name === 'system.views') continue;
    found[name] =
      type === 'view'
        ? { options }
        : {
            options,
            indexes: await indexesOf(client, database, name),
            documents: await documentsOf(client, database, name, options['capped'] === true),
          };
  }
  return found;
}

async function indexesOf(client: MongoClient, database: string, name: string): Promise<Document[]> {
  const indexes: Document[] = await client.db(database).collection(name).indexes();
  return indexes.sort((a, b) => String(a['name']).localeCompare(String(b['name'])));
}

/**
 * Documents of a collection, each as text of its bytes. Those of a capped one are in insertion order, others in text
 * order: routers omit fields of documents that they sort.
 */
export async function documentsOf(
  client: MongoClient,
  database: string,
  name: string,
  natural: boolean,
): Promise<string[]> {
  const found: unknown[] = await client
    .db(database)
    .collection(name)
    .find({}, { raw: true, ...(natural && { sort: { $natural: 1 } }) })
    .toArray();
  const texts = found.map((bytes) => Buffer.from(bytes as Uint8Array).toString('base64'));
  return natural ? texts : texts.sort();
}

/** Both clusters have the same content under a database's name, and it is not empty. */
export async function expectEqualDatabases(
  { cluster0, cluster1 }: Record<'cluster0' | 'cluster1', Pick<Fixture['cluster0'], 'client'>>,
  database: string,
): Promise<void> {
  const source = await everything(cluster0.client, database);
  expect(Object.keys(source)).not.toEqual([]);
  expect(await everything(cluster1.client, database)).toEqual(source);
}
