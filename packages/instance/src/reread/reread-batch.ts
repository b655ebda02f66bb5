import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { deleteStatement, replaceStatement } from '../bson/build.js';
import { findValue } from '../bson/scan.js';
import { fullKeyFilter } from '../bson/shard-key.js';
import { hasZeroTimestamp } from '../bson/zero-timestamp.js';
import { highestTime } from '../cluster/cluster-time.js';
import type { RawWrite, WriteOutcome } from '../cluster/node-client.js';
import { CollectionAbsentError, historyIncompleteCode } from '../cluster/failure.js';
import { bulkBytesMax, partsWithin, statementBytesMax } from '../cluster/driver/write-limits.js';
import type { RereadEntry, RereadReason } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { RetryableStatement } from '../store/ticketed-write.js';
import { rereadOfUpsert, rereadOfRefusal, writeRefused } from '../store/write-refused.js';
import type { RereadDependencies } from './reread-dependencies.js';
import { type DocumentsByClass, readDestination, readSource } from './read-documents.js';

/** What became of the keys of one batch. */
export interface RereadOutcome {
  reread: RereadEntry[];
  /** A document of another key, or an index, stands in the way; tried again later. */
  blocked: BlockedEntry[];
  readEnd: bigint;
}

/** A key whose documents could not all be written, because of what the destination has. */
export interface BlockedEntry {
  entry: RereadEntry;
  refused: RefusedDocument[];
  /** Full keys of the class that were on the destination before. */
  present: Buffer[];
}

/** A document that the destination refused because of others of its class, or of an index. */
export interface RefusedDocument {
  /** Full key. */
  key: Buffer;
  document: Uint8Array;
  code: number;
  reason: RereadReason;
}

/** One statement of a repair, the entry it belongs to and the full key of its document. */
interface Step {
  entry: RereadEntry;
  key: Buffer;
  /** What is written; null when it is deleted. */
  document: Uint8Array | null;
  statement: Uint8Array;
}

/**
 * Brings some keys of one collection to the source's state at one time: what is gone is deleted first, what exists is
 * written whole. Only documents that the share owns are touched; the entries hold later events meanwhile.
 */
export async function rereadBatch(
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  deps: RereadDependencies,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<RereadOutcome> {
  const readTime = highestTime([deps.position(), collection.notBefore, ...entries.map(({ dropped }) => dropped)]);
  for (const entry of entries) entry.readTime = readTime;
  await deps.untilRouted(readTime, stop);
  await deps.applyWatermark.cover(readTime);
  const { documents, readEnd } = await deps.retrying(
    'read doubtful documents',
    () => readSource(deps.shard, collection, entries, readTime, stop),
    stop,
  );
  if (collection.readBy !== 'uuid') await knownAs(collection, entries, deps, stop);
  // Transactions up to the end of the reading may be in it already: after a restart their deltas have to be in doubt.
  await deps.applyWatermark.cover(readEnd);
  const present = await deps.retrying(
    'read doubtful documents on the destination',
    () => readDestination(deps.destination, collection, entries, stop),
    stop,
  );
  const { upserts, inserts } = writings(collection, entries, documents, present);
  await sendSteps('delete', removals(collection, entries, upserts, present), collection, deps, hard);
  const blocked: Blocked = new Map();
  await sendSteps('update', upserts, collection, deps, hard, blocked);
  await sendSteps('insert', inserts, collection, deps, hard, blocked);
  await sendSteps('update', timesOf(collection, inserts), collection, deps, hard, blocked);
  const keysOf = (entry: RereadEntry) =>
    (present.get(entry.idClass) ?? []).map((document) => keyOf(collection, document));
  return {
    reread: entries.filter((entry) => !blocked.has(entry)),
    blocked: [...blocked].map(([entry, refused]) => ({ entry, refused, present: keysOf(entry) })),
    readEnd,
  };
}

/**
 * A name stands for what it is the name of today: whether that was another collection, or none, is known when all definition changes are
 * that were made until the reading ended.
 * @throws CollectionAbsentError when there is one of this collection
 */
async function knownAs(
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  deps: RereadDependencies,
  stop: AbortSignal,
): Promise<void> {
  await deps.untilNamed(collection, stop);
  if (!entries.every((entry) => deps.mayRead(entry)))
    throw new CollectionAbsentError('The collection may have had another name during the reading');
}

/** Deletes the share's documents of some keys, whatever the source has: a copy to come brings what is there. */
export async function removeDocuments(
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  deps: RereadDependencies,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const present = await deps.retrying(
    'read doubtful documents on the destination',
    () => readDestination(deps.destination, collection, entries, stop),
    stop,
  );
  await sendSteps('delete', removals(collection, entries, [], present), collection, deps, hard);
}

/** Documents of the destination under keys that no put replaces. */
function removals(
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  upserts: readonly Step[],
  present: DocumentsByClass,
): Step[] {
  if (collection.capped) return [];
  return entries.flatMap((entry) => {
    const wanted = upserts.filter((upsert) => upsert.entry === entry);
    return ownDocuments(collection, present.get(entry.idClass))
      .map((document) => keyOf(collection, document))
      .filter((key) => !wanted.some((upsert) => upsert.key.equals(key)))
      .map((key) => ({ entry, key, document: null, statement: deleteStatement(key, collationOf(collection)) }));
  });
}

/**
 * Whole documents; of a capped collection only those that are there, because order and size may not change. What no statement can
 * put is inserted, once what was there is removed.
 */
function writings(
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  documents: DocumentsByClass,
  present: DocumentsByClass,
): { upserts: Step[]; inserts: Step[] } {
  const writing: { upserts: Step[]; inserts: Step[] } = { upserts: [], inserts: [] };
  for (const entry of entries) {
    if (collection.capped && !present.has(entry.idClass)) continue;
    for (const document of ownDocuments(collection, documents.get(entry.idClass))) {
      const key = keyOf(collection, document);
      const statement = replaceStatement(key, document, collationOf(collection));
      if (collection.capped || rereadOfUpsert(statement, document, collection) === null)
        writing.upserts.push({ entry, key, document, statement });
      else writing.inserts.push({ entry, key, document, statement: document });
    }
  }
  return writing;
}

/** What is inserted has the time of the insert in the place of a zero timestamp, which an update then puts back. */
function timesOf(collection: SyncedCollection, inserts: readonly Step[]): Step[] {
  return inserts.flatMap((step) => {
    if (step.document === null || !hasZeroTimestamp(step.document)) return [];
    const statement = replaceStatement(step.key, step.document, { ...collationOf(collection), upsert: false });
    return statement.length > statementBytesMax ? [] : [{ ...step, statement }];
  });
}

function ownDocuments(collection: SyncedCollection, documents: readonly Uint8Array[] | undefined): Uint8Array[] {
  return (documents ?? []).filter((document) => collection.owns(document, 'document'));
}

/** With the document's own `_id`: of two that the index finds equal, one may be gone and the other new. */
export function keyOf(collection: SyncedCollection, document: Uint8Array): Buffer {
  const id = findValue(document, '_id');
  if (id === null) throw new RangeError('a document without _id');
  return fullKeyFilter(document, collection.destinationKey, id);
}

function collationOf(collection: SyncedCollection): { simpleCollation: boolean } {
  return { simpleCollation: collection.collated && collection.destinationKey.length > 0 };
}

/**
 * Statements of a repair may be carried out twice: those of which nobody knows what became are sent again under another number.
 * @throws RetryableStatement then
 */
async function writeKnown(write: RawWrite, { writer }: RereadDependencies, hard: AbortSignal): Promise<WriteOutcome> {
  const outcome = await writer.write(write, hard);
  if (outcome.failures.some(({ code }) => code === historyIncompleteCode))
    throw new RetryableStatement(historyIncompleteCode);
  return outcome;
}

/** What was refused for what the destination has. */
type Blocked = Map<RereadEntry, RefusedDocument[]>;

/** Sends statements in unordered bulks. @param blocked takes what is refused for what the destination has */
async function sendSteps(
  kind: RawWrite['kind'],
  steps: readonly Step[],
  collection: SyncedCollection,
  deps: RereadDependencies,
  hard: AbortSignal,
  blocked: Blocked = new Map(),
): Promise<void> {
  for (const part of partsWithin(steps, ({ statement }) => statement.length, bulkBytesMax)) {
    const statements = part.map((step) => step.statement);
    const write = { database: collection.database, collection: collection.name, kind, statements, ordered: false };
    const { failures } = await deps.retrying(`${kind} doubtful documents`, () => writeKnown(write, deps, hard), hard);
    for (const { index, code } of failures) {
      const step = part[index];
      if (step === undefined) throw new ConvoyError('internalError', 'A reply named a statement that was not sent.');
      const reason = rereadOfRefusal(collection, code);
      if (reason === null || step.document === null) throw writeRefused(collection, code);
      blocked.set(step.entry, [
        ...(blocked.get(step.entry) ?? []),
        { key: step.key, document: step.document, code, reason },
      ]);
    }
  }
}
