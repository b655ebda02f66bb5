import type { MongoClient } from 'mongodb';

const systemDatabases = new Set(['admin', 'config', 'local', 'convoy_metadata']);

/**
 * All collections of users with their UUIDs, options and indexes, as text: two are the same when nothing was changed,
 * dropped or made.
 */
export async function catalogOf(client: MongoClient): Promise<string[]> {
  const { databases } = await client.db('admin').admin().listDatabases();
  const rows: string[] = [];
  for (const { name: database } of databases.filter(({ name }) => !systemDatabases.has(name))) {
    for (const listed of await client.db(database).listCollections().toArray()) {
      const indexes = listed.type === 'collection' ? await client.db(database).collection(listed.name).indexes() : [];
      rows.push(`${database}.${listed.name} ${JSON.stringify({ listed, indexes })}`);
    }
  }
  return rows.sort();
}
