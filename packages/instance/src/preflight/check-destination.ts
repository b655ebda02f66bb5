import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { mapBounded } from '../async/together.js';
import { optionDifferences } from '../catalog/collection-options.js';
import {
  hasAnyDocument,
  listCollections,
  listDatabaseNames,
  type ListedNamespace,
  listNamespaces,
} from '../catalog/list-namespaces.js';
import { nameFew, nameSome } from '../catalog/name-some.js';
import { isReservedDatabase, type NamespaceFilter } from '../catalog/namespace-filter.js';
import { type Catalog, namespaceFrom, namespaceOf } from '../catalog/namespace.js';
import { isOwnZone } from '../catalog/place-chunks.js';
import { readConfig } from '../catalog/read-sharding.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { namesInTheWay, shownName } from '../cluster/time-series.js';
import { type Advice, unchecked, warning } from './examination.js';

/** The reserved database of Convoy's metadata on the destination. */
const METADATA_DATABASE = 'convoy_metadata';

/** Collections checked concurrently. */
const COLLECTIONS_PARALLEL = 8;

/**
 * Checks whether the destination is free for the included namespaces: no metadata of another migration, no documents,
 * no different collection of the same name, no other zone ranges over planned collections. Empty collections that equal
 * the source's are reused.
 * @param sourceCatalog the source's, under the names on the destination
 * @param filter of the destination's namespaces
 * @returns the finding
 * @throws ConvoyError `shardDraining`; `migrationExists` or `destinationNotEmpty`, naming the first few namespaces
 */
export async function checkDestination(
  destination: ClusterClient,
  sourceCatalog: Catalog,
  filter: NamespaceFilter,
  signal: AbortSignal,
): Promise<string> {
  if (destination.kind === 'sharded') await checkDraining(destination, signal);
  const databases = await listDatabaseNames(destination.router, signal);
  if (databases.includes(METADATA_DATABASE)) await checkMetadata(destination, signal);
  checkDatabaseCase(databases, sourceCatalog);
  const present = await listNamespaces(destination.router, filter, signal);
  checkForms(present, sourceCatalog);
  const collections = present.filter((row) => row.type === 'collection');
  const full = await mapBounded(collections, COLLECTIONS_PARALLEL, (row) =>
    hasAnyDocument(destination.router, row, signal),
  );
  const names = collections.filter((_, position) => full[position]).map(shownName);
  if (names.length > 0) {
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination already has documents in ${nameFew(names)}. Drop these collections or choose an empty cluster.`,
    );
  }
  if (destination.kind === 'sharded') await checkZones(destination, filter, signal);
  return 'The destination is free for what is to be migrated.';
}

/** No database and no chunk can be placed on a shard that is being removed. */
async function checkDraining(destination: ClusterClient, signal: AbortSignal): Promise<void> {
  const shards = await readConfig(destination.router, { find: 'shards', filter: {} }, signal);
  const draining = shards.filter((shard) => shard.draining === true).map(({ _id }) => String(_id));
  if (draining.length === 0) return;
  throw new ConvoyError(
    'shardDraining',
    `Shards of the destination are draining: ${nameSome(draining)}. Run removeShard until it says completed, or stop ` +
      'the removal: db.getSiblingDB("config").shards.updateOne({_id: SHARD}, {$unset: {draining: 1}}).',
  );
}

async function checkMetadata(destination: ClusterClient, signal: AbortSignal): Promise<void> {
  const collections = await listCollections(destination.router, METADATA_DATABASE, signal);
  if (collections.length > 0) throw new ConvoyError('migrationExists');
}

/** A server refuses two databases whose names differ only in case. */
function checkDatabaseCase(databases: readonly string[], sourceCatalog: Catalog): void {
  const byLowerCase = new Map(databases.map((name) => [name.toLowerCase(), name]));
  const wanted = [...new Set(sourceCatalog.map((entry) => entry.database))];
  const clashes = wanted.filter((name) => (byLowerCase.get(name.toLowerCase()) ?? name) !== name);
  if (clashes.length === 0) return;
  throw new ConvoyError(
    'destinationNotEmpty',
    `The destination has databases whose names differ only in case from ${nameSome(clashes)}. Drop them.`,
  );
}

function checkForms(present: readonly ListedNamespace[], sourceCatalog: Catalog): void {
  const expected = new Map(sourceCatalog.map((entry) => [namespaceOf(entry), entry]));
  const taken = new Set(
    sourceCatalog.flatMap(({ database, name }) =>
      namesInTheWay(name).map((each) => namespaceOf({ database, name: each })),
    ),
  );
  const unlike = present.filter((row) => {
    const entry = expected.get(namespaceOf(row));
    if (entry === undefined) return row.type === 'view' || (row.type === 'collection' && taken.has(namespaceOf(row)));
    return (
      row.type !== entry.type || optionDifferences(entry, { ...entry, options: row.options }, 'temporary').length > 0
    );
  });
  if (unlike.length === 0) return;
  throw new ConvoyError(
    'destinationNotEmpty',
    "The destination has collections or views that differ from the source's: " +
      `${nameFew([...new Set(unlike.map(shownName))])}. Drop them.`,
  );
}

async function checkZones(destination: ClusterClient, filter: NamespaceFilter, signal: AbortSignal): Promise<void> {
  const ranges = await readConfig(destination.router, { find: 'tags', filter: {} }, signal);
  const names = ranges
    .filter((range) => !isOwnZone(String(range.tag)))
    .map((range) => String(range.ns))
    .filter((namespace) => isIncluded(filter, namespace));
  if (names.length === 0) return;
  const shown = nameFew([...new Set(names.map(namespaceFrom).map(shownName))]);
  throw new ConvoyError(
    'destinationNotEmpty',
    `The destination has zone ranges for ${shown}. Remove them: Convoy places the source's distribution by zones.`,
  );
}

function isIncluded(filter: NamespaceFilter, namespace: string): boolean {
  const { database, name } = namespaceFrom(namespace);
  return filter.includes(database, name);
}

/** Databases asked for their file system: all are on the same one. */
const DATABASES_ASKED_MAX = 8;

/**
 * Compares the free space of the destination's disks with the size of the source's documents. Storage is compressed, so
 * the documents' size is an upper bound; indexes need more.
 */
export async function checkDiskSpace(
  destination: ClusterClient,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<Advice> {
  const free = await freeBytes(destination, signal);
  if (free === null)
    return unchecked('Not checked: the destination does not report its file systems before it has a database.');
  const needed = catalog.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const sentence =
    `The source's documents have ${gigabytes(needed)} uncompressed; the destination's disks have ` +
    `${gigabytes(free)} free.`;
  if (needed <= free) return sentence;
  return warning('diskSpaceShort', `${sentence} Make sure that compression makes up the difference, or add space.`);
}

/**
 * Free bytes of all file systems that the shards report (several on one disk count it several times); null if none
 * does.
 */
async function freeBytes(destination: ClusterClient, signal: AbortSignal): Promise<number | null> {
  // The server's own databases may be on the config servers only.
  const names = (await listDatabaseNames(destination.router, signal)).filter((name) => !isReservedDatabase(name));
  for (const name of names.slice(0, DATABASES_ASKED_MAX)) {
    const reply = await destination.router.command(name, { dbStats: 1 }, { signal });
    const shards = reply.raw === undefined ? [reply] : Object.values(reply.raw as Record<string, Document>);
    const known = shards.filter(({ fsTotalSize }) => Number(fsTotalSize) > 0);
    if (known.length > 0)
      return known.reduce((sum, { fsTotalSize, fsUsedSize }) => sum + Number(fsTotalSize) - Number(fsUsedSize), 0);
  }
  return null;
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(bytes < 1e10 ? 2 : 0)} GB`;
}
