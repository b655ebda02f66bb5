import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { codeOf, invalidViewCode } from '../../cluster/failure.js';
import type { NodeClient } from '../../cluster/node-client.js';
import { decodeListedCollection, uuidHex } from './decode-catalog.js';
import { mapBounded } from '../../async/together.js';
import type { NamespaceFilter } from '../namespace-filter.js';
import { readCursor } from './read-cursor.js';

/** Databases listed concurrently: enough to hide the round trips, little load for a router. */
const DATABASES_PARALLEL = 8;

/** One row of `listCollections`. */
export interface ListedNamespace {
  database: string;
  name: string;
  type: 'collection' | 'view' | 'timeseries';
  /** 32 hexadecimal digits; empty for views and time series. */
  uuid: string;
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
  return {
    database,
    name: row.name as string,
    type: row.type as ListedNamespace['type'],
    uuid: uuidHex((row.info as Document | undefined)?.uuid),
    options: (row.options as Document | undefined) ?? {},
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
