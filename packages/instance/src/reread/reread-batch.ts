import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { Clock } from '../async/clock.js';
import type { Retrying } from '../async/retry.js';
import { mapBounded } from '../async/together.js';
import { deleteStatement, replaceStatement } from '../bson/build.js';
import { idClass, idFilter } from '../bson/id.js';
import { findValue } from '../bson/scan.js';
import { hasZeroTimestamp } from '../bson/sent-value.js';
import { fullKeyFilter } from '../bson/shard-key.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import { bulkBytesMax, commandBytesMax, partsWithin, statementBytesMax } from '../cluster/driver/write-command.js';
import { CollectionAbsentError, historyIncompleteCode } from '../cluster/failure.js';
import type { NodeClient, RawWrite, WriteOutcome } from '../cluster/node-client.js';
import { openAtTime, openPresent, readTarget } from '../cluster/range-read.js';
import { batchesOf, matchingAll, pointReadsParallel } from '../cluster/reads.js';
import type { RoutedStream } from '../store/change-event.js';
import {
  type DocumentWriter,
  rereadOfRefusal,
  rereadOfUpsert,
  RetryableStatement,
  writeRefused,
} from '../store/fenced-writer.js';
import type { RereadEntry, RereadReason, RereadSet } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { ApplyWatermark } from '../store/task-record.js';

/** A range that is copied again once the documents of its entries are gone from the destination. */
export interface GivenUpRange {
  collection: SyncedCollection;
  /** Some durable entries of the range in the set, with nothing in flight; none while all others wait for that. */
  entries: readonly RereadEntry[];
  /** Called after some of them have left the set. @param dropped time of the latest event dropped for them */
  left: (dropped: bigint) => void;
}

/** Chooses a range to copy again when there are too many entries. */
export interface RangeRelief {
  /** Null when there is none to give up. */
  next(): Promise<GivenUpRange | null>;
}

export interface RereadDependencies {
  /** The source shard, or a router of the source. */
  shard: NodeClient;
  /** A router of the destination. */
  destination: NodeClient;
  /** A client that reads the source's documents on all shards. */
  source: NodeClient;
  writer: DocumentWriter;
  rereads: RereadSet;
  applyWatermark: ApplyWatermark;
  retrying: Retrying;
  clock: Clock;
  stream: Pick<RoutedStream, 'position' | 'untilRouted' | 'untilNamed' | 'releaseReread'>;
  /** False while the entry's partition is not copied yet, or its collection is suspended for a DDL change. */
  mayRead(entry: RereadEntry): boolean;
  relief: RangeRelief;
}

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
    (present.get(entry.idClass) ?? []).map((document) => fullKeyOf(collection, document));
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
      .map((document) => fullKeyOf(collection, document))
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
      const key = fullKeyOf(collection, document);
      const statement = replaceStatement(key, document, { ...collationOf(collection), isBucket: collection.isSeries });
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
    const statement = replaceStatement(step.key, step.document, {
      ...collationOf(collection),
      isBucket: collection.isSeries,
      upsert: false,
    });
    return statement.length > statementBytesMax ? [] : [{ ...step, statement }];
  });
}

function ownDocuments(collection: SyncedCollection, documents: readonly Uint8Array[] | undefined): Uint8Array[] {
  return (documents ?? []).filter((document) => collection.owns(document, 'document'));
}

/** Full key with the document's own `_id`: of two that the index finds equal, one may be gone and the other new. */
export function fullKeyOf(collection: SyncedCollection, document: Uint8Array): Buffer {
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

/** Documents by id class. */
type DocumentsByClass = Map<string, Uint8Array[]>;

/** Total size of the documents of one read. The documents of a single entry are read whatever their size. */
const readingBytesMax = 16 * 2 ** 20;

/** The documents of several entries, or their `_id`s, are too large for one read: the caller reads fewer. */
export class ReadingTooLargeError extends Error {
  override readonly name = 'ReadingTooLargeError';
}

interface SourceReading {
  documents: DocumentsByClass;
  /** The shard's operation time at the end. */
  readEnd: bigint;
}

/**
 * Reads the source's documents of some entries at one time; of capped collections at majority, the most that they
 * allow.
 */
export async function readSource(
  shard: NodeClient,
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  readTime: bigint,
  signal: AbortSignal,
): Promise<SourceReading> {
  const at = timestampOf(readTime);
  const readConcern = collection.capped
    ? { level: 'majority', afterClusterTime: at }
    : { level: 'snapshot', atClusterTime: at };
  const command = { ...readTarget(collection), ...matchingAll(collection.documentFilter), readConcern };
  return readByIds(shard, collection, collection.database, command, entries, readTime, signal);
}

/** Reads the destination's documents of some entries at majority. */
export async function readDestination(
  destination: NodeClient,
  collection: SyncedCollection,
  entries: readonly RereadEntry[],
  signal: AbortSignal,
): Promise<DocumentsByClass> {
  const { database, name } = collection.destination;
  const command = { find: name, readConcern: { level: 'majority' } };
  return (await readByIds(destination, collection, database, command, entries, 0n, signal)).documents;
}

/**
 * Reads the source's documents of one entry on all shards, at one time that the router chooses: a moving one appears
 * once.
 */
export async function readEverywhere(
  router: NodeClient,
  collection: SyncedCollection,
  entry: RereadEntry,
  signal: AbortSignal,
): Promise<Uint8Array[]> {
  const command = {
    find: collection.name,
    ...matchingAll(collection.documentFilter),
    readConcern: { level: collection.capped ? 'majority' : 'snapshot' },
  };
  return (
    (await readByIds(router, collection, collection.database, command, [entry], 0n, signal)).documents.get(
      entry.idClass,
    ) ?? []
  );
}

/** Where a collection lies in the order of `_id`, a server reads all that lies between several: each is read alone. */
async function readByIds(
  client: NodeClient,
  { clustered }: SyncedCollection,
  database: string,
  command: Document,
  entries: readonly RereadEntry[],
  readTime: bigint,
  signal: AbortSignal,
): Promise<SourceReading> {
  if (clustered !== true) return readTogether(client, database, command, entries, readTime, signal);
  let bytes = 0;
  const readings = await mapBounded(entries, pointReadsParallel, async (entry) => {
    const reading = await readTogether(client, database, command, [entry], readTime, signal);
    bytes += [...reading.documents.values()].flat().reduce((sum, { length }) => sum + length, 0);
    if (bytes > readingBytesMax && entries.length > 1)
      throw new ReadingTooLargeError(`documents of ${entries.length} keys take more than ${readingBytesMax} bytes`);
    return reading;
  });
  return {
    documents: new Map(readings.flatMap((reading) => [...reading.documents])),
    readEnd: highestTime([readTime, ...readings.map(({ readEnd }) => readEnd)]),
  };
}

async function readTogether(
  client: NodeClient,
  database: string,
  command: Document,
  entries: readonly RereadEntry[],
  readTime: bigint,
  signal: AbortSignal,
): Promise<SourceReading> {
  if (entries.length > 1 && idBytes(entries) > commandBytesMax)
    throw new ReadingTooLargeError(`the _ids of ${entries.length} keys take more than ${commandBytesMax} bytes`);
  const filter = matchingAll(command.filter as Document | undefined, idFilter(entries.map((entry) => entry.id)));
  const wanted = new Set(entries.map((entry) => entry.idClass));
  const hasTime = (command.readConcern as Document).atClusterTime !== undefined;
  const open = hasTime ? openAtTime : openPresent;
  const cursor = await open(client, database, { ...command, ...filter }, { signal });
  const documents: DocumentsByClass = new Map();
  let readEnd = readTime;
  let bytes = 0;
  for await (const batch of batchesOf(cursor, signal)) {
    if (batch.operationTime !== undefined) readEnd = highestTime([readEnd, timeOf(batch.operationTime)]);
    for (const document of batch.documents) sortIn(documents, document, wanted);
    bytes += batch.bytes;
    if (bytes > readingBytesMax && entries.length > 1)
      throw new ReadingTooLargeError(`documents of ${entries.length} keys take more than ${readingBytesMax} bytes`);
  }
  return { documents, readEnd };
}

function idBytes(entries: readonly RereadEntry[]): number {
  return entries.reduce((sum, { id }) => sum + id.bytes.length, 0);
}

function sortIn(documents: DocumentsByClass, document: Uint8Array, wanted: ReadonlySet<string>): void {
  const id = findValue(document, '_id');
  if (id === null) return;
  const name = idClass(id, false);
  const found = documents.get(name);
  if (found !== undefined) found.push(document);
  else if (wanted.has(name)) documents.set(name, [document]);
}
