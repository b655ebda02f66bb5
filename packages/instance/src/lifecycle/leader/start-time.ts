import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Catalog, type CatalogEntry, namespaceOf } from '../../catalog/namespace.js';
import { timeOf } from '../../cluster/cluster-time.js';

/** A move by hand commits once; more of them in a row are somebody's balancing. */
const startsMax = 10;

/** How a start time and the catalog are taken. */
interface Takes {
  time(): Promise<bigint>;
  catalog(): Promise<Catalog>;
}

/**
 * Takes a start time, and the catalog after it. No balancer shows all moves by hand. A chunk that has moved in between
 * has its new owner in the catalog, and a read at the start time may lack its documents there: both are taken anew.
 * @throws ConvoyError `balancerStillRunning` if chunks keep moving
 */
export async function takeStart(takes: Takes): Promise<{ startTime: bigint; catalog: Catalog }> {
  for (let left = startsMax; ; left -= 1) {
    const startTime = await takes.time();
    const catalog = await takes.catalog();
    const moved = catalog.find((entry) => hasMovedAfter(entry, startTime));
    if (moved === undefined) return { startTime, catalog };
    if (left <= 1) {
      const description = `Chunks of ${namespaceOf(moved)} moved whenever the migration took its start time.`;
      throw new ConvoyError('balancerStillRunning', `${description} Stop what moves them, and start again.`);
    }
  }
}

/** Chunks that were never moved have the first major version, and are owned since their collection was sharded. */
function hasMovedAfter({ sharding }: CatalogEntry, time: bigint): boolean {
  return (sharding?.chunks ?? []).some(
    ({ version, ownedSince }) =>
      version !== undefined && version.t > 1 && ownedSince !== undefined && timeOf(ownedSince) > time,
  );
}
