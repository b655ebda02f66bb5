import { bufferOf, ownedValue, type RawValue } from '../../bson/scan.js';
import { batchesOf } from '../../cluster/reads.js';
import type { Retrying } from '../../async/retry.js';
import { findCommand, findDocuments, type Lookup, lookupName } from './find-documents.js';
import type { Sides } from './sides.js';
import { idOrNull } from '../../bson/id.js';

/**
 * Whether the documents of a capped collection were inserted in the same order on both sides. It ignores documents that
 * only one side has: that side may have dropped fewer of its oldest ones, or may be ahead at the end.
 * @throws what the clients throw after their retries
 */
export function inSameInsertionOrder(lookups: Sides<Lookup>, retrying: Retrying): Promise<boolean> {
  return retrying('compare the insertion order', () => compareOrder(lookups), lookups.source.signal);
}

async function compareOrder({ source, destination }: Sides<Lookup>): Promise<boolean> {
  const [here, there] = [idsOf(source), idsOf(destination)];
  try {
    let [a, b] = [await next(here), await next(there)];
    while (a !== null && b !== null) {
      if (same(a, b)) {
        [a, b] = [await next(here), await next(there)];
        continue;
      }
      const [aIsThere, bIsHere] = [await exists(destination, a), await exists(source, b)];
      if (aIsThere && bIsHere) return false;
      if (!aIsThere) a = await next(here);
      if (!bIsHere) b = await next(there);
    }
    return true;
  } finally {
    await Promise.all([here.return(), there.return()]);
  }
}

async function exists(deps: Lookup, id: RawValue): Promise<boolean> {
  return (await findDocuments({ ...deps, idsOnly: true }, [id])).get(lookupName(id))?.digest !== '';
}

function same(a: RawValue, b: RawValue): boolean {
  return a.type === b.type && bufferOf(a.bytes).equals(b.bytes);
}

/** Null at the end. */
async function next(ids: AsyncGenerator<RawValue, void>): Promise<RawValue | null> {
  const { value } = await ids.next();
  return value ?? null;
}

/** The `_id`s of a capped collection in insertion order. */
async function* idsOf(deps: Lookup): AsyncGenerator<RawValue, void> {
  const { client, database, signal } = deps;
  const cursor = await client.openCursor(
    database,
    { ...findCommand({ ...deps, idsOnly: true }), sort: { $natural: 1 } },
    { signal },
  );
  for await (const { documents } of batchesOf(cursor, signal))
    for (const document of documents) yield ownedValue(idOrNull(document));
}
