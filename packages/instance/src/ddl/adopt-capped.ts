import type { CatalogEntry } from '../catalog/namespace.js';
import type { UuidPairs } from '../store/ddl-journal.js';

/**
 * Records the current UUIDs of capped collections that were recreated to empty them: documents cannot be deleted from
 * them, so a restarted copy does that.
 * @param followed collections under their names on the destination
 * @param found what the destination has now, at least in their databases
 */
export async function adoptCapped(
  pairs: UuidPairs,
  followed: Iterable<Pick<CatalogEntry, 'uuid' | 'database' | 'name' | 'options'>>,
  found: readonly { uuid: string; database: string; name: string }[],
  signal: AbortSignal,
): Promise<void> {
  const present = new Set(found.map(({ uuid }) => uuid));
  for (const { uuid, database, name, options } of followed) {
    if (options.capped !== true || present.has(pairs.destinationOf(uuid) ?? '')) continue;
    const there = found.find((one) => one.database === database && one.name === name);
    // Only a new UUID counts: a catalog that was read slowly may still show a collection that was replaced since.
    if (there === undefined || there.uuid === '' || pairs.isMapped(there.uuid)) continue;
    await pairs.record([{ sourceUuid: uuid, destinationUuid: there.uuid }], signal);
  }
}
