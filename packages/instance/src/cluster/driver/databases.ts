import type { Db, MongoClient } from 'mongodb';

/** Databases cached for a client, of some hundred bytes each; beyond that its cache is cleared. */
const databasesMax = 1_000;

const cached = new WeakMap<MongoClient, Map<string, Db>>();

/**
 * A database of a client, cached for its next command. Otherwise the driver copies all options of the client each time,
 * which took 3 % of the CPU of a small migration.
 */
export function databaseOf(client: MongoClient, name: string): Db {
  const databases = cached.get(client) ?? new Map<string, Db>();
  const known = databases.get(name);
  if (known !== undefined) return known;
  if (databases.size >= databasesMax) databases.clear();
  const database = client.db(name);
  cached.set(client, databases.set(name, database));
  return database;
}
