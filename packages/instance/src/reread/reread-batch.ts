import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { deleteStatement, replaceStatement } from '../bson/build.js';
import { findValue } from '../bson/scan.js';
import { fullKeyFilter } from '../bson/shard-key.js';
import { hasZeroTimestamp } from '../bson/sent-value.js';
import { highestTime } from '../cluster/cluster-time.js';
import type { RawWrite, WriteOutcome } from '../cluster/node-client.js';
import { CollectionAbsentError, historyIncompleteCode } from '../cluster/failure.js';
import { bulkBytesMax, partsWithin, statementBytesMax } from '../cluster/driver/write-command.js';
import type { RereadEntry, RereadReason } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { RetryableStatement } from '../store/ticketed-write.js';
import { rereadOfUpsert, rereadOfRefusal, writeRefused } from '../store/write-refused.js';
import type { RereadDependencies } from './reread-dependencies.js';
import { type DocumentsByClass, readDestination, readSource } from './read-documents.js';

/** Some entries of one collection, and what their re-read needs. */
interface RereadBatch {
  collection: SyncedCollection;
  entries: readonly RereadEntry[];
  deps: RereadDependencies;
  /** Ends reads. */
  stop: AbortSignal;
  /** Ends writes in flight. */
  hard: AbortSignal;
}

interface RereadOutcome {
  reread: RereadEntry[];
  /** Another document or an index is in the way; tried again later. */
  blocked: BlockedEntry[];
  readEnd: bigint;
}

/** An entry whose documents could not all be written because of the destination's state. */
export interface BlockedEntry {
  entry: RereadEntry;
  refused: RefusedDocument[];
  /** Full keys of the id class on the destination before the writes. */
  present: Buffer[];
}

/** A document that the destination refused because of another one of its class, or an index. */
interface RefusedDocument {
  /** Full key. */
  key: Buffer;
  document: Uint8Array;
  code: number;
  reason: RereadReason;
}

/** One statement of a re-read. */
interface Step {
  entry: RereadEntry;
  /** Full key. */
  key: Buffer;
  /** Null for a delete. */
  document: Uint8Array | null;
  statement: Uint8Array;
}

/**
 * Brings the documents of some entries of one collection to the source's state at one time: first deletes, then whole
 * documents. Touches only documents that the task owns; the entries buffer later events meanwhile.
 */
export async function rereadBatch(batch: RereadBatch): Promise<RereadOutcome> {
  const { collection, entries, deps, stop } = batch;
  const readTime = highestTime([deps.stream.position, collection.notBefore, ...entries.map(({ dropped }) => dropped)]);
  for (const entry of entries) entry.readTime = readTime;
  await deps.stream.untilRouted(readTime, stop);
  await deps.applyWatermark.cover(readTime);
  const { documents, readEnd } = await deps.retrying(
    'read documents to re-read',
    () => readSource(deps.shard, collection, entries, readTime, stop),
    stop,
  );
  if (collection.readBy !== 'uuid') await knownAs(batch);
  // The read may include transactions up to its end: after a restart their deltas must cause a re-read.
  await deps.applyWatermark.cover(readEnd);
  const present = await presentOf(batch);
  const { upserts, inserts } = writings(batch, documents, present);
  await sendSteps('delete', removals(batch, upserts, present), batch);
  const blocked: Blocked = new Map();
  await sendSteps('update', upserts, batch, blocked);
  await sendSteps('insert', inserts, batch, blocked);
  await sendSteps('update', timesOf(collection, inserts), batch, blocked);
  const keysOf = (entry: RereadEntry) =>
    (present.get(entry.idClass) ?? []).map((document) => keyOf(collection, document));
  return {
    reread: entries.filter((entry) => !blocked.has(entry)),
    blocked: [...blocked].map(([entry, refused]) => ({ entry, refused, present: keysOf(entry) })),
    readEnd,
  };
}

/**
 * A read by name may have reached another collection, or none. That is known once all DDL changes up to the end of the
 * read are.
 * @throws CollectionAbsentError when there is a DDL change of this collection
 */
async function knownAs({ collection, entries, deps, stop }: RereadBatch): Promise<void> {
  await deps.stream.untilNamed(collection, stop);
  if (!entries.every((entry) => deps.mayRead(entry)))
    throw new CollectionAbsentError('The collection may have had another name during the reading');
}

/** The destination's documents of some entries. */
function presentOf({ collection, entries, deps, stop }: RereadBatch): Promise<DocumentsByClass> {
  return deps.retrying(
    "read the destination's documents to re-read",
    () => readDestination(deps.destination, collection, entries, stop),
    stop,
  );
}

/** Deletes the task's documents of some entries, whatever the source has: a later copy includes them. */
export async function removeDocuments(batch: RereadBatch): Promise<void> {
  await sendSteps('delete', removals(batch, [], await presentOf(batch)), batch);
}

/** Deletes for the destination's documents whose keys no upsert replaces. */
function removals({ collection, entries }: RereadBatch, upserts: readonly Step[], present: DocumentsByClass): Step[] {
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
 * Statements for whole documents; of a capped collection only for those present, because order and size must not
 * change. A document that no upsert can write is inserted after the delete of the old one.
 */
function writings(
  { collection, entries }: RereadBatch,
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

/** An insert replaces a zero timestamp by the present time; an update restores it. */
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

/** Full key with the document's own `_id`: of two that the index finds equal, one may be gone and the other new. */
export function keyOf(collection: SyncedCollection, document: Uint8Array): Buffer {
  const id = findValue(document, '_id');
  if (id === null) throw new RangeError('a document without _id');
  return fullKeyFilter(document, collection.destinationKey, id);
}

function collationOf(collection: SyncedCollection): { simpleCollation: boolean } {
  return { simpleCollation: collection.collated && collection.destinationKey.length > 0 };
}

/**
 * The statements of a re-read may be applied twice: those with an unknown outcome are sent again under another number.
 * @throws RetryableStatement for an unknown outcome
 */
async function writeKnown(write: RawWrite, { deps, hard }: RereadBatch): Promise<WriteOutcome> {
  const outcome = await deps.writer.write(write, hard);
  if (outcome.failures.some(({ code }) => code === historyIncompleteCode))
    throw new RetryableStatement(historyIncompleteCode);
  return outcome;
}

type Blocked = Map<RereadEntry, RefusedDocument[]>;

/** Sends statements in unordered bulks. @param blocked receives documents refused because of the destination's state */
async function sendSteps(
  kind: RawWrite['kind'],
  steps: readonly Step[],
  batch: RereadBatch,
  blocked: Blocked = new Map(),
): Promise<void> {
  const { collection, deps, hard } = batch;
  for (const part of partsWithin(steps, ({ statement }) => statement.length, bulkBytesMax)) {
    const statements = part.map((step) => step.statement);
    const { database, name } = collection.destination;
    const write = { database, collection: name, kind, statements, ordered: false };
    const { failures } = await deps.retrying(`${kind} re-read documents`, () => writeKnown(write, batch), hard);
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
