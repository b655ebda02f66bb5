import type { Document } from 'mongodb';
import type { Retrying } from '../../async/retry.js';
import { compareIds, idOrNull, isSendable } from '../../bson/id.js';
import { bufferOf, ownedValue, type RawValue } from '../../bson/scan.js';
import type { ClusterClient, Namespace } from '../../cluster/node-client.js';
import { batchesOf } from '../../cluster/reads.js';
import { compareGroup, digestOf, mismatchKind, type MismatchKind } from './compare-documents.js';
import { findCommand, findDocuments, type Lookup, lookupName, lookupsOn } from './find-documents.js';
import { OrderedDocuments } from './ordered-documents.js';
import type { KnownTimes, Side, Sides } from './sides.js';

/** A part of a collection that is compared for the first time. */
interface PartToCompare {
  clusters: Sides<ClusterClient>;
  /** Where each side has the collection. */
  on: Sides<Namespace>;
  /** The reads see everything written up to these times. */
  times: KnownTimes;
  /** The query that chooses the source's documents; absent: all. */
  documentFilter?: Document | undefined;
  /** Convoy does not know the order of its `_id`s: it is compared as a whole, by look-ups. */
  unordered: boolean;
  /** The `_id` range: from `lower` (inclusive) to `upper` (exclusive); null: unbounded. */
  lower: RawValue | null;
  upper: RawValue | null;
  /** Estimates of the whole collection. */
  sizeBytes: number;
  documentCount: number;
  retrying: Retrying;
  signal: AbortSignal;
}

/** An `_id` whose documents differed at one check; later checks decide whether they really differ. */
export interface Finding {
  id: RawValue;
  kind: MismatchKind;
  /** State of its documents on each side (see `digestOf`). */
  source: string;
  destination: string;
}

/** What was read since a comparison began; `bytes` of both sides together, as far as they were read whole. */
export interface DocumentsRead {
  sourceDocuments: number;
  destinationDocuments: number;
  bytes: number;
}

/** Progress callbacks of a first comparison. */
interface FirstComparisonObserver {
  /** An attempt begins: nothing that an earlier one read or found counts. Only unordered parts have several. */
  began(): void;
  /** Receives findings, and owns them; those of a range in its order. */
  found(findings: Finding[]): Promise<void>;
  /** Called whenever more is compared. */
  read(documents: DocumentsRead): void;
  /**
   * Called now and then in an ordered part; everything below `next` has been reported, nothing from `next` on.
   * @param next the next `_id` of either side
   */
  reached(next: RawValue): Promise<void>;
}

/**
 * Compares a part of a collection to its end.
 * @throws what the clients throw after their retries, and what the observer throws
 */
export async function compareFirst(part: PartToCompare, observer: FirstComparisonObserver): Promise<void> {
  await (part.unordered ? compareUnordered(part, observer) : compareOrdered(part, observer));
}

/** Reads both sides in order, which resume by themselves after a failure. */
async function compareOrdered(part: PartToCompare, observer: FirstComparisonObserver): Promise<void> {
  const { clusters, on, times, documentFilter, lower, upper, sizeBytes, documentCount, retrying, signal } = part;
  const documentBytes = sizeBytes / Math.max(1, documentCount);
  const reading = (side: Side) =>
    new OrderedDocuments(
      clusters[side].router,
      {
        ...{ database: on[side].database, collection: on[side].name },
        ...{ lower, upper, after: times[side], documentBytes },
        filter: side === 'source' ? documentFilter : undefined,
      },
      retrying,
      signal,
    );
  const [source, destination] = [reading('source'), reading('destination')];
  const count = (): void =>
    observer.read({
      sourceDocuments: source.takenDocuments,
      destinationDocuments: destination.takenDocuments,
      bytes: source.bytes + destination.bytes,
    });
  observer.began();
  try {
    await compareRange(source, destination, {
      found: (findings) => observer.found(findings),
      reached(next) {
        count();
        return observer.reached(next);
      },
    });
    count();
  } finally {
    await Promise.all([source.close(), destination.close()]);
  }
}

/** A failure restarts it from the beginning. */
async function compareUnordered(part: PartToCompare, observer: FirstComparisonObserver): Promise<void> {
  const { clusters, on, times, documentFilter, retrying, signal } = part;
  const { source, destination } = lookupsOn(clusters, on, times, signal, documentFilter);
  const compare = async (): Promise<void> => {
    const read: DocumentsRead = { sourceDocuments: 0, destinationDocuments: 0, bytes: 0 };
    observer.began();
    await compareByLookup(source, destination, {
      found: (findings) => observer.found(findings),
      compared(batch) {
        for (const name of ['sourceDocuments', 'destinationDocuments', 'bytes'] as const) read[name] += batch[name];
        observer.read({ ...read });
      },
    });
  };
  await retrying('compare by lookup', compare, signal);
}

/** Progress callbacks of the comparison of a range. */
interface RangeObserver {
  /** Receives findings in the order of the range, and owns them. */
  found(findings: Finding[]): Promise<void>;
  /** See `FirstComparisonObserver`. */
  reached(next: RawValue): Promise<void>;
}

/** Findings are reported in portions of this size, so that they never fill the memory. */
const findingsMax = 256;

/**
 * Compares two ordered reads of one range to their end, as bytes; it parses `_id`s only where bytes differ.
 * @throws what the reads and the observer throw
 */
export async function compareRange(
  source: OrderedDocuments,
  destination: OrderedDocuments,
  observer: RangeObserver,
): Promise<void> {
  let findings: Finding[] = [];
  const handOn = async () => {
    const portion = findings;
    findings = [];
    if (portion.length > 0) await observer.found(portion);
  };
  for (;;) {
    if (source.wantsBatch || destination.wantsBatch) {
      await handOn();
      await Promise.all([source.fill(), destination.fill()]);
      const next = lowestId(source.current, destination.current);
      if (next !== null && isSendable(next)) await observer.reached(ownedValue(next));
    }
    passEqual(source, destination);
    if (source.wantsBatch || destination.wantsBatch) continue;
    const id = lowestId(source.current, destination.current);
    if (id === null) return handOn();
    const finding = await compareNext(source, destination, ownedValue(id));
    if (finding !== null) findings.push(finding);
    if (findings.length >= findingsMax) await handOn();
  }
}

/** Skips all documents of the current batches whose bytes are equal. */
function passEqual(source: OrderedDocuments, destination: OrderedDocuments): void {
  while (sameAtHand(source, destination)) {
    source.at += 1;
    destination.at += 1;
  }
}

function sameAtHand({ current: here }: OrderedDocuments, { current: there }: OrderedDocuments): boolean {
  return here !== undefined && there !== undefined && here.length === there.length && bufferOf(here).equals(there);
}

function lowestId(here: Uint8Array | undefined, there: Uint8Array | undefined): RawValue | null {
  if (here === undefined) return there === undefined ? null : idOrNull(there);
  if (there === undefined) return idOrNull(here);
  const [a, b] = [idOrNull(here), idOrNull(there)];
  return compareIds(a, b) <= 0 ? a : b;
}

/** Takes and compares all documents of the lowest current `_id`. */
async function compareNext(
  source: OrderedDocuments,
  destination: OrderedDocuments,
  id: RawValue,
): Promise<Finding | null> {
  const [here, there] = [await source.takeGroup(id), await destination.takeGroup(id)];
  const [first] = compareGroup(here, there);
  return first === undefined ? null : { id, kind: first.kind, source: digestOf(here), destination: digestOf(there) };
}

/** Documents looked up on the other side at once. */
const lookupsMax = 500;

/** Progress callbacks of a comparison by lookups. */
interface LookupObserver {
  found(findings: Finding[]): Promise<void>;
  /** Called for every compared batch. */
  compared(batch: DocumentsRead): void;
}

/**
 * Compares a collection whose `_id` order only the servers know. It looks up the documents of the source on the
 * destination, and the `_id`s of the destination on the source.
 * @throws what the clients and the observer throw; the whole may be repeated
 */
async function compareByLookup(source: Lookup, destination: Lookup, observer: LookupObserver): Promise<void> {
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
    kind: mismatchKind(source, destination),
    source,
    destination,
  };
}
