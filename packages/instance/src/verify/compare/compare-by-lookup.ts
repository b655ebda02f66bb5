import { ownedValue, type RawValue } from '../../bson/scan.js';
import { batchesOf } from '../../cluster/reads.js';
import { idOrNull } from '../../bson/id.js';
import { digestOf, kindOf } from './compare-group.js';
import type { Finding } from './compare-range.js';
import { findCommand, type Lookup, findDocuments, lookupName } from './find-documents.js';

/** Documents looked up on the other side at once. */
const lookupsMax = 500;

/** Progress callbacks of a comparison by lookups. */
interface LookupObserver {
  found(findings: Finding[]): Promise<void>;
  /** Called for every compared batch; `bytes` of both sides together, as far as they were read whole. */
  compared(stats: { sourceDocuments: number; destinationDocuments: number; bytes: number }): void;
}

/**
 * Compares a collection whose `_id` order only the servers know. It looks up the documents of the source on the
 * destination, and the `_id`s of the destination on the source.
 * @throws what the clients and the observer throw; the whole may be repeated
 */
export async function compareByLookup(source: Lookup, destination: Lookup, observer: LookupObserver): Promise<void> {
  for await (const batch of documentsOf(source)) {
    const groups = grouped(batch);
    const there = await findDocuments(destination, idsOf(groups));
    const differs = [...groups].filter(([name, documents]) => digestOf(documents) !== there.get(name)?.digest);
    await observer.found(
      differs.map(([name, documents]) => findingOf(documents, digestOf(documents), there.get(name)?.digest ?? '')),
    );
    const bytes = 2 * batch.reduce((sum, { length }) => sum + length, 0);
    observer.compared({ sourceDocuments: batch.length, destinationDocuments: 0, bytes });
  }
  for await (const batch of documentsOf({ ...destination, idsOnly: true })) {
    const groups = grouped(batch);
    const here = await findDocuments({ ...source, idsOnly: true }, idsOf(groups));
    const extra = [...groups].filter(([name]) => here.get(name)?.digest === '');
    await observer.found(extra.map(([, documents]) => findingOf(documents, '', digestOf(documents))));
    observer.compared({ sourceDocuments: 0, destinationDocuments: batch.length, bytes: 0 });
  }
}

/** All documents of one side in no order. */
async function* documentsOf(deps: Lookup): AsyncGenerator<Uint8Array[]> {
  const { client, database, signal } = deps;
  const cursor = await client.openCursor(database, { ...findCommand(deps), batchSize: lookupsMax }, { signal });
  for await (const { documents } of batchesOf(cursor, signal)) if (documents.length > 0) yield documents;
}

function grouped(documents: readonly Uint8Array[]): Map<string, Uint8Array[]> {
  return Map.groupBy(documents, (document) => lookupName(idOrNull(document)));
}

function idsOf(groups: ReadonlyMap<string, readonly Uint8Array[]>): RawValue[] {
  return [...groups.values()].map(([first]) => idOrNull(first ?? new Uint8Array()));
}

function findingOf([first]: readonly Uint8Array[], source: string, destination: string): Finding {
  return {
    id: ownedValue(idOrNull(first ?? new Uint8Array())),
    kind: kindOf(source, destination),
    source,
    destination,
  };
}
