import type { Document } from 'mongodb';
import { listDatabaseNames } from '../catalog/list-namespaces.js';
import type { Catalog } from '../catalog/namespace.js';
import { isReservedDatabase } from '../catalog/namespace-filter.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { type Advice, unchecked, warning } from './examination.js';

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
