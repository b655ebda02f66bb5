import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { LISTED_COLLECTIONS_MAX, type PublishedDetails } from '@convoy/api/fleet/published-details';
import type { Document } from 'mongodb';
import { mapBounded } from '../async/together.js';
import { codeOf, invalidViewCode } from '../cluster/failure.js';
import type { NodeClient } from '../cluster/node-client.js';
import { batchesOf } from '../cluster/reads.js';
import { seriesOf, userName } from '../cluster/time-series.js';
import { decodeListedCollection, uuidHex } from './catalog-bytes.js';
import { compileNamespaceFilter, type NamespaceFilter } from './namespace-filter.js';
import { seriesOptions } from './time-series.js';

/** Databases listed concurrently: enough to hide the round trips, little load for a router. */
const DATABASES_PARALLEL = 8;

/** One row of `listCollections`. */
export interface ListedNamespace {
  database: string;
  name: string;
  type: 'collection' | 'view' | 'timeseries';
  /** 32 hexadecimal digits; empty for views and time series. */
  uuid: string;
  /** Of the buckets of a time series: those of the time series. */
  options: Document;
}

/** All included namespaces of a cluster, in order of database and name (by code unit). */
export async function listNamespaces(
  client: NodeClient,
  filter: NamespaceFilter,
  signal: AbortSignal,
): Promise<ListedNamespace[]> {
  const databases = (await listDatabaseNames(client, signal)).filter((database) => filter.mayInclude(database));
  const perDatabase = await mapBounded(databases, DATABASES_PARALLEL, (database) =>
    listCollections(client, database, signal),
  );
  return perDatabase.flat().filter((listed) => filter.includes(listed.database, listed.name));
}

/** Names of all databases in order, the server's own included. */
export async function listDatabaseNames(client: NodeClient, signal: AbortSignal): Promise<string[]> {
  const reply = await client.command('admin', { listDatabases: 1, nameOnly: true }, { signal });
  return (reply.databases as { name: string }[]).map((row) => row.name).sort();
}

/**
 * Everything in one database, in order of name.
 * @param name only the collection of this name
 * @throws ConvoyError `viewNotSupported` if an entry of the database's `system.views` is malformed
 */
export async function listCollections(
  client: NodeClient,
  database: string,
  signal: AbortSignal,
  name?: string,
): Promise<ListedNamespace[]> {
  const command = { listCollections: 1, ...(name === undefined ? {} : { filter: { name } }), cursor: {} };
  const rows = await readCursor(client, database, command, decodeListedCollection, signal).catch((failure: unknown) => {
    throw codeOf(failure) === invalidViewCode ? malformedView(database, failure) : failure;
  });
  return rows.map((row) => listedNamespace(database, row)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function listedNamespace(database: string, row: Document): ListedNamespace {
  const options = (row.options as Document | undefined) ?? {};
  return {
    database,
    name: row.name as string,
    type: row.type as ListedNamespace['type'],
    uuid: uuidHex((row.info as Document | undefined)?.uuid),
    options: seriesOf(row.name as string) === null ? options : seriesOptions(options),
  };
}

function malformedView(database: string, cause: unknown): ConvoyError {
  return new ConvoyError(
    'viewNotSupported',
    `An entry of ${database}.system.views is malformed, so the server lists nothing of ${database}. Look for it with ` +
      `db.getSiblingDB(${JSON.stringify(database)}).system.views.find(), and remove it.`,
    { cause },
  );
}

/** Whether a collection has any document, not counting orphans. */
export async function hasAnyDocument(
  router: NodeClient,
  { database, name }: { database: string; name: string },
  signal: AbortSignal,
): Promise<boolean> {
  const reply = await router.command(
    database,
    { find: name, limit: 1, singleBatch: true, projection: { _id: 1 }, readConcern: { level: 'majority' } },
    { signal },
  );
  return (reply.cursor as { firstBatch: unknown[] }).firstBatch.length > 0;
}

/** Estimated size of a collection over all shards, orphans included. */
interface CollectionSize {
  sizeBytes: number;
  documentCount: number;
}

const UNKNOWN: CollectionSize = { sizeBytes: 0, documentCount: 0 };

/**
 * Reads the estimate, or zeros if the server refuses: only progress and the order of work may depend on it. Servers
 * answer `dataSize` from the counters of the collection. `$collStats` costs a shard several times as much, since its
 * `storageStats` lists all counters of the storage engine (seen on 5.0.7).
 */
export async function readSize(
  router: NodeClient,
  database: string,
  collection: string,
  signal: AbortSignal,
): Promise<CollectionSize> {
  try {
    const command = { dataSize: `${database}.${collection}`, estimate: true };
    const { size, numObjects } = await router.command(database, command, { signal });
    return { sizeBytes: count(size), documentCount: count(numObjects) };
  } catch (failure) {
    if (codeOf(failure) === null) throw failure;
    return UNKNOWN;
  }
}

function count(value: unknown): number {
  const number = Number(value);
  return Number.isFinite(number) && number > 0 ? number : 0;
}

/** Sizes read at the same time: enough to hide the round trips, little load for a production cluster. */
const SIZES_PARALLEL = 4;

type Listing = Pick<PublishedDetails['sourceListing'], 'rows' | 'unlisted'>;

/** A cluster's collections with their estimated sizes, the largest first; without views. Only reads. */
export async function listSource(router: NodeClient, signal: AbortSignal): Promise<Listing> {
  const all = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
  const found = (await listNamespaces(router, all, signal)).filter(({ type }) => type === 'collection');
  const rows = await mapBounded(found.slice(0, LISTED_COLLECTIONS_MAX), SIZES_PARALLEL, async ({ database, name }) => {
    const { sizeBytes, documentCount } = await readSize(router, database, name, signal);
    return { database, collection: userName(name), totalBytes: sizeBytes, documents: documentCount };
  });
  return { rows: rows.sort((a, b) => b.totalBytes - a.totalBytes), unlisted: found.length - rows.length };
}

/**
 * Reads a cursor to its end and decodes every document. Only for catalogs, whose size the cluster itself bounds: a
 * secondary may lag behind what the change stream has shown, so they come from the primary.
 * @throws what the client throws; closes the cursor in any case
 */
export async function readCursor<Decoded>(
  client: NodeClient,
  database: string,
  command: Document,
  decode: (bytes: Uint8Array) => Decoded,
  signal: AbortSignal,
): Promise<Decoded[]> {
  const cursor = await client.openCursor(database, command, { signal, primary: true });
  const decoded: Decoded[] = [];
  for await (const { documents } of batchesOf(cursor, signal)) {
    for (const bytes of documents) decoded.push(decode(bytes));
  }
  return decoded;
}
