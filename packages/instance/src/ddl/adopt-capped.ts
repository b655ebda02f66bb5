import type { CatalogEntry } from '../catalog/namespace.js';
import type { UuidPairs } from '../store/uuid-pairs.js';

/**
 * Records the present UUIDs of capped collections that were emptied by being made anew, which a copy of one that is begun
 * again does: documents cannot be deleted from them.
 * @param followed collections as they stand on the destination
 * @param found what the destination has by now, of their databases at least
 */
export async function adoptCapped(
  pairs: UuidPairs,
  followed: Iterable<CatalogEntry>,
  found: readonly { uuid: string; database: string; name: string }[],
  signal: AbortSignal,
): Promise<void> {
  const present = new Set(found.map(({ uuid }) => uuid));
  for (const { uuid, database, name, options } of followed) {
    if (options.capped !== true || present.has(pairs.destinationOf(uuid) ?? '')) continue;
    const there = found.find((one) => one.database === database && one.name === name);
    // One that stood for it before may be adopted again: catalogs that were read slowly tell of what has been replaced since.
    if (there === undefined || there.uuid === '' || pairs.isMapped(there.uuid)) continue;
    await pairs.record([{ sourceUuid: uuid, destinationUuid: there.uuid }], signal);
  }
}
