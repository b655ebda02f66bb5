import { type RawValue, bufferOf, ownedValue } from '../../bson/scan.js';
import { batchesOf } from '../../cluster/batches.js';
import { idOf } from './compare-group.js';
import { findCommand, type Lookup, findDocuments, lookupName } from './find-documents.js';

/**
 * Whether the documents of a capped collection were inserted in the same order on both sides. It ignores documents that
 * only one side has: that side may have dropped fewer of its oldest ones, or may be ahead at the end.
 * @throws what the clients throw
 */
export async function inSameInsertionOrder(source: Lookup, destination: Lookup): Promise<boolean> {
  await using here = new IdSequence(source);
  await using there = new IdSequence(destination);
  let [a, b] = [await here.next(), await there.next()];
  while (a !== null && b !== null) {
    if (same(a, b)) {
      [a, b] = [await here.next(), await there.next()];
      continue;
    }
    const [aIsThere, bIsHere] = [await exists(destination, a), await exists(source, b)];
    if (aIsThere && bIsHere) return false;
    if (!aIsThere) a = await here.next();
    if (!bIsHere) b = await there.next();
  }
  return true;
}

async function exists(deps: Lookup, id: RawValue): Promise<boolean> {
  return (await findDocuments({ ...deps, idsOnly: true }, [id])).get(lookupName(id))?.digest !== '';
}

function same(a: RawValue, b: RawValue): boolean {
  return a.type === b.type && bufferOf(a.bytes).equals(b.bytes);
}

/** The `_id`s of a capped collection in insertion order. */
class IdSequence implements AsyncDisposable {
  readonly #ids: AsyncGenerator<RawValue>;

  constructor(deps: Lookup) {
    this.#ids = idsOf(deps);
  }

  /** Null at the end. */
  async next(): Promise<RawValue | null> {
    const id = await this.#ids.next();
    return id.done === true ? null : ownedValue(id.value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ids.return(undefined);
  }
}

async function* idsOf(deps: Lookup): AsyncGenerator<RawValue, void> {
  const { client, database, signal } = deps;
  const cursor = await client.openCursor(
    database,
    { ...findCommand({ ...deps, idsOnly: true }), sort: { $natural: 1 } },
    { signal },
  );
  for await (const { documents } of batchesOf(cursor, signal)) for (const document of documents) yield idOf(document);
}
