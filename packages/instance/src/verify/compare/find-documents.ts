import type { Document } from 'mongodb';
import { idClass, idFilter, idOrNull } from '../../bson/id.js';
import { bufferOf, type RawValue } from '../../bson/scan.js';
import { batchesOf, matchingAll, pointReadsParallel } from '../../cluster/reads.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { commandBytesMax, partsWithin } from '../../cluster/driver/write-command.js';
import type { Namespace, ClusterClient, NodeClient } from '../../cluster/node-client.js';
import { digestOf, documentDigest, joinedDigest } from './compare-documents.js';
import { mapBounded } from '../../async/together.js';
import { seriesOf } from '../../cluster/time-series.js';
import type { KnownTimes, Side, Sides } from './sides.js';

/** What one side has of an `_id`. */
export interface FoundDocuments {
  /** See `digestOf`; empty if there is none. */
  readonly digest: string;
  /** Null if all of them together were too large to hold in memory. */
  readonly documents: Uint8Array[] | null;
}

/** Where to look documents up. */
export interface Lookup {
  client: NodeClient;
  database: string;
  collection: string;
  /** The read sees everything written up to this cluster time. */
  after: bigint;
  /** Reads only documents that match; absent: all. */
  filter?: Document | undefined;
  /** Reads only the `_id`s, if only existence matters. */
  idsOnly?: boolean;
  signal: AbortSignal;
}

/**
 * Where both sides of a collection are looked up.
 * @param after the reads see everything written up to these cluster times
 * @param filter of the source's documents; absent: all
 */
export function lookupsOn(
  clusters: Sides<Pick<ClusterClient, 'router'>>,
  names: Sides<Namespace>,
  after: KnownTimes,
  signal: AbortSignal,
  filter?: Document,
): Sides<Lookup> {
  const on = (side: Side): Lookup => ({
    client: clusters[side].router,
    database: names[side].database,
    collection: names[side].name,
    after: after[side],
    filter: side === 'source' ? filter : undefined,
    signal,
  });
  return { source: on('source'), destination: on('destination') };
}

/** Bytes of the replies whose documents stay in memory; the documents of a single `_id` always do. */
const keptBytesMax = 8 * 2 ** 20;

/** The name under which an `_id` is looked up; `_id`s that the `_id` index treats as equal have the same one. */
export function lookupName(id: RawValue): string {
  return idClass(id, false);
}

/**
 * Reads the documents of some `_id`s at majority, through a router, which filters out orphans.
 * @returns by `lookupName`; every requested `_id` has an entry
 */
export async function findDocuments(deps: Lookup, ids: readonly RawValue[]): Promise<Map<string, FoundDocuments>> {
  const { client, database, signal } = deps;
  const byName = new Map(ids.map((id) => [lookupName(id), id]));
  const groups = new Map([...byName.keys()].map((name) => [name, new DocumentGroup()]));
  let readBytes = 0;
  const readsEach = seriesOf(deps.collection) !== null;
  const parts = readsEach
    ? [...byName.values()].map((id) => [id])
    : [...partsWithin(byName.values(), ({ bytes }) => bytes.length, commandBytesMax)];
  await mapBounded(parts, readsEach ? pointReadsParallel : 1, async (part) => {
    const names = parts.length === 1 ? byName : new Set(part.map(lookupName));
    const command = { ...findCommand(deps), ...matchingAll(deps.filter, idFilter(part)) };
    const cursor = await client.openCursor(database, command, { signal });
    for await (const batch of batchesOf(cursor, signal)) {
      const keeps = groups.size === 1 || readBytes <= keptBytesMax;
      for (const document of batch.documents) {
        const name = lookupName(idOrNull(document));
        if (names.has(name)) groups.get(name)?.add(document, keeps);
      }
      readBytes += batch.bytes;
    }
  });
  return groups;
}

/** The same on both sides: first on the source, so that the destination has that time to catch up. */
export async function findOnBothSides(
  lookups: Sides<Lookup>,
  ids: readonly RawValue[],
): Promise<(id: RawValue) => Sides<FoundDocuments>> {
  const here = await findDocuments(lookups.source, ids);
  const there = await findDocuments(lookups.destination, ids);
  const none = { digest: '', documents: [] };
  return (id) => {
    const name = lookupName(id);
    return { source: here.get(name) ?? none, destination: there.get(name) ?? none };
  };
}

/** A read of one side: of all documents that it may show. */
export function findCommand({ collection, after, filter, idsOnly }: Lookup): Document {
  return {
    find: collection,
    ...matchingAll(filter),
    ...(idsOnly === true ? { projection: { _id: 1 } } : {}),
    readConcern: { level: 'majority', afterClusterTime: timestampOf(after) },
  };
}

/** The documents of one `_id`. A digest is what is left of those that do not stay in memory. */
class DocumentGroup implements FoundDocuments {
  readonly #digests: string[] = [];
  #digest: string | null = null;
  documents: Uint8Array[] | null = [];

  add(document: Uint8Array, keeps: boolean): void {
    this.#digest = null;
    if (keeps && this.documents !== null) {
      this.documents.push(document);
      return;
    }
    this.#digests.push(...(this.documents ?? []).map(documentDigest), documentDigest(document));
    this.documents = null;
  }

  get digest(): string {
    return (this.#digest ??= this.documents === null ? joinedDigest(this.#digests) : digestOf(this.documents));
  }
}

/** Whether both sides have the same: of single documents, by their bytes. */
export function isSameFound(a: FoundDocuments, b: FoundDocuments): boolean {
  const [one, other] = [a.documents, b.documents];
  if (one?.length === 1 && other?.length === 1 && one[0] !== undefined && other[0] !== undefined)
    return bufferOf(one[0]).equals(other[0]);
  return a.digest === b.digest;
}
