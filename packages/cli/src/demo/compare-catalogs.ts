import { isDeepStrictEqual } from 'node:util';
import { isReservedDatabase } from '@convoy/instance/catalog/namespace-filter';
import type { Document, MongoClient } from 'mongodb';

/** A collection on both sides. */
export interface ComparedCollection {
  database: string;
  /** Of a time series that of its buckets. */
  name: string;
  /** Its namespace on the destination. */
  there: { database: string; name: string };
  capped: boolean;
}

interface CatalogOutcome {
  /** Collections (no views) on both sides. */
  collections: ComparedCollection[];
  differences: string[];
}

interface Entry {
  database: string;
  name: string;
  type: string;
  options: Document;
  /** By name, without the fields that servers add. */
  indexes: Record<string, Document>;
  /** Null when not sharded. */
  shardKey: Document | null;
}

/** An index, or the specification of one that is being built. */
interface ListedIndex extends Document {
  spec?: Document;
  buildUUID?: unknown;
}

/**
 * The namespace on the destination of one of the source (`database.collection`); the same without other names. Views
 * keep what they read.
 */
export type NameThere = (namespace: string) => string;

/** Compares collections and views, with their options, indexes and shard keys. */
export async function compareCatalogs(
  source: MongoClient,
  destination: MongoClient,
  namespaces?: ReadonlySet<string>,
  nameThere: NameThere = (namespace) => namespace,
): Promise<CatalogOutcome> {
  const expected = namespaces && new Set([...namespaces].map(nameThere));
  const [left, right] = await Promise.all([readCatalog(source, namespaces), readCatalog(destination, expected)]);
  const bothSharded = (await isSharded(source)) && (await isSharded(destination));
  const outcome: CatalogOutcome = { collections: [], differences: [] };
  for (const [namespace, entry] of left) {
    const counterpart = right.get(nameThere(namespace));
    if (counterpart === undefined) {
      outcome.differences.push(`${namespace} is missing on the destination`);
      continue;
    }
    const parts = ['type', 'options', 'indexes', ...(bothSharded ? (['shardKey'] as const) : [])] as const;
    for (const part of parts) {
      if (isDeepStrictEqual(entry[part], counterpart[part])) continue;
      outcome.differences.push(
        `${namespace}: ${part} differ: ${JSON.stringify(entry[part])} on the source, ` +
          `${JSON.stringify(counterpart[part])} on the destination`,
      );
    }
    if (entry.type !== 'view')
      outcome.collections.push({
        database: entry.database,
        name: storedName(entry),
        there: { database: counterpart.database, name: storedName(counterpart) },
        capped: entry.options['capped'] === true,
      });
  }
  const known = new Set([...left.keys()].map(nameThere));
  for (const namespace of right.keys())
    if (!known.has(namespace)) outcome.differences.push(`${namespace} is only on the destination`);
  return outcome;
}

async function readCatalog(client: MongoClient, namespaces?: ReadonlySet<string>): Promise<Map<string, Entry>> {
  const catalog = new Map<string, Entry>();
  const shardKeys = await readShardKeys(client);
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  for (const { name: database } of databases.filter(({ name }) => !isReservedDatabase(name))) {
    for (const info of await client.db(database).listCollections({}, { nameOnly: false }).toArray()) {
      const namespace = `${database}.${info.name}`;
      if ((info.name.startsWith('system.') && info.name !== 'system.js') || (namespaces && !namespaces.has(namespace)))
        continue;
      const type = info.type ?? 'collection';
      const indexes = type === 'view' ? {} : await readIndexes(client, database, info.name);
      catalog.set(namespace, {
        database,
        name: info.name,
        type,
        options: info.options ?? {},
        indexes,
        shardKey: shardKeys.get(`${database}.${storedName({ name: info.name, type })}`) ?? null,
      });
    }
  }
  return catalog;
}

/** A time series is stored, and sharded, as its buckets. */
function storedName({ name, type }: Pick<Entry, 'name' | 'type'>): string {
  return type === 'timeseries' ? `system.buckets.${name}` : name;
}

/** Above the 64 indexes that a collection may have. */
const indexesMax = 100;

/** Those that are still being built, which servers list only with this option in a form of their own, say so. */
async function readIndexes(
  client: MongoClient,
  database: string,
  collection: string,
): Promise<Record<string, Document>> {
  const listing = { listIndexes: collection, includeBuildUUIDs: true, cursor: { batchSize: indexesMax } };
  const { cursor } = (await client.db(database).command(listing)) as { cursor: { firstBatch: ListedIndex[] } };
  const indexes = cursor.firstBatch.map(({ spec, buildUUID, ...index }): Document =>
    buildUUID === undefined ? index : { ...spec, building: true },
  );
  // `ns` was dropped in 4.4; index versions are the server's choice.
  const described = indexes.map(
    ({ ns: _ns, v: _v, key, ...index }: Document) =>
      [index['name'], { ...index, key: Object.entries(key as Document) }] as const,
  );
  return Object.fromEntries(described) as Record<string, Document>;
}

async function readShardKeys(client: MongoClient): Promise<Map<string, Document>> {
  const entries = await client
    .db('config')
    .collection<{ _id: string; key?: Document; unique?: boolean; dropped?: boolean }>('collections')
    // From 8.0 on it also lists collections that are not sharded, but off their primary shard.
    .find({ unsplittable: { $ne: true } })
    .toArray();
  return new Map(
    entries
      .filter(({ key, dropped }) => key !== undefined && !dropped)
      .map(({ _id, key, unique }) => [_id, { key: Object.entries(key ?? {}), unique: unique ?? false }]),
  );
}

async function isSharded(client: MongoClient): Promise<boolean> {
  const hello = await client.db('admin').command({ hello: 1 });
  return hello['msg'] === 'isdbgrid';
}
