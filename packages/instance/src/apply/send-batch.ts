import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { Retrying } from '../async/retry.js';
import {
  deleteStatement,
  DocumentBuilder,
  replaceStatement,
  type ReplaceOptions,
  updateStatement,
} from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import { idFilter } from '../bson/id.js';
import { findValue } from '../bson/scan.js';
import { isLossless } from '../bson/sent-value.js';
import { fullKeyFilter, isOfId } from '../bson/shard-key.js';
import { bulkBytesMax, partsWithin, statementBytesMax } from '../cluster/driver/write-command.js';
import { mayReadLater } from '../cluster/failure.js';
import type { NodeClient, RawWrite, WriteFailure, WriteOutcome } from '../cluster/node-client.js';
import { batchesOf } from '../cluster/reads.js';
import { type DocumentWriter, rereadOfRefusal, rereadOfUpsert, writeRefused } from '../store/fenced-writer.js';
import type { RereadReason, RereadRequest } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { BatchItem, WriteBatch } from './write-batch.js';
import { absentFilter, needsAbsence, writeDelta, writeForAbsent } from './write-delta.js';

/** "cannot remove from a capped collection": servers before 5.0.7 and 5.3 (SERVER-63201). */
const illegalOperationCode = 20;
const cannotRemoveCodes = new Set([illegalOperationCode, 10_089]);
/** Removes a field that no document has: matches a document without changing it. */
const presenceProbe = new DocumentBuilder()
  .begin('0')
  .begin('$unset', elementType.array)
  .string('0', 'convoy_presence_probe')
  .end()
  .end()
  .finish();
/**
 * Statements of a bulk share buffers of this size: far more than most statements need, far less than a batch may have.
 */
const statementBuffer_bytes = 64 * 1024;

/** Statements of one kind for one collection. */
interface Bulk {
  collection: SyncedCollection;
  kind: BatchItem['action']['kind'];
  /** Its deltas add fields that the documents are taken not to have: their filters ask for that. */
  addsFields: boolean;
  items: BatchItem[];
  /** Deletes of a capped collection between its inserts. */
  removals: BatchItem[];
}

export interface BatchDestination {
  writer: DocumentWriter;
  findPresent: FindPresent;
}

/** Where a batch is sent to; the signal ends it. */
interface Sending extends BatchDestination {
  signal: AbortSignal;
}

/**
 * Sends a batch as one bulk per collection and kind, all in flight together, and waits for all answers.
 * @returns re-read requests for the statements without exact effect
 */
export async function sendBatch(
  batch: WriteBatch,
  { writer, findPresent }: BatchDestination,
  signal: AbortSignal,
): Promise<RereadRequest[]> {
  const sending = { writer, findPresent, signal };
  const rereadRequests = await Promise.all(
    bulksOf(batch).map((bulk) => (bulk.collection.capped ? sendCapped : sendBulk)(bulk, sending)),
  );
  return rereadRequests.flat();
}

function bulksOf({ items }: WriteBatch): Bulk[] {
  const bulks: Bulk[] = [];
  let last: Bulk | undefined;
  for (const item of items) {
    const { collection, action } = item;
    const isRemoval = collection.capped && action.kind === 'delete';
    const kind = isRemoval ? 'insert' : action.kind;
    const addsFields = action.kind === 'delta' && !collection.capped && needsAbsence(action.delta);
    const isOf = (bulk: Bulk): boolean =>
      bulk.kind === kind && bulk.collection === collection && bulk.addsFields === addsFields;
    // A batch has few bulks, and neighbouring items mostly belong to the same one.
    let bulk = last !== undefined && isOf(last) ? last : bulks.find(isOf);
    if (bulk === undefined) {
      bulk = { collection, kind, addsFields, items: [], removals: [] };
      bulks.push(bulk);
    }
    (isRemoval ? bulk.removals : bulk.items).push(item);
    last = bulk;
  }
  return bulks;
}

/**
 * Sends deletes before the inserts around them: the collection is then never fuller than the source's, so that the
 * destination drops no document that the source still has. A destination that refuses deletes in capped collections
 * drops the oldest documents itself on insert; a document still there afterwards was deleted by a user of the source.
 */
async function sendCapped(bulk: Bulk, sending: Sending): Promise<RereadRequest[]> {
  const refused = bulk.removals.length === 0 ? [] : await removeCapped(bulk, sending);
  const rereadRequests = bulk.items.length === 0 ? [] : await sendBulk(bulk, sending);
  if (refused.length > 0) await refusePresent(bulk, refused, sending);
  return rereadRequests;
}

/** @returns the removals that the destination refused because the collection is capped */
async function removeCapped(bulk: Bulk, { writer, signal }: Sending): Promise<BatchItem[]> {
  const items = bulk.removals;
  const statements = items.map(({ action }) => deleteStatement(action.filter));
  const outcome = await writer.write({ ...writeOf({ ...bulk, kind: 'delete' }, statements), ordered: false }, signal);
  return outcome.failures.map((failure) => {
    if (!cannotRemoveCodes.has(failure.code)) throw writeRefused(bulk.collection, failure.code);
    return itemOf(items, failure);
  });
}

/** @throws ConvoyError `writeRefused` when the destination still has one of the documents */
async function refusePresent(bulk: Bulk, items: readonly BatchItem[], { writer, signal }: Sending): Promise<void> {
  const statements = items.map(({ action }) =>
    updateStatement(action.filter, { pipeline: presenceProbe }, { simpleCollation: false }),
  );
  const outcome = await writer.write({ ...writeOf({ ...bulk, kind: 'upsert' }, statements), ordered: false }, signal);
  if (outcome.n > 0) throw writeRefused(bulk.collection, illegalOperationCode);
}

/**
 * Sends a bulk in commands of bounded size, one after the other: a delta's pipeline is many times larger than its
 * event.
 */
async function sendBulk(bulk: Bulk, sending: Sending): Promise<RereadRequest[]> {
  const rereadRequests: RereadRequest[] = [];
  for (const part of partsWithin(
    statementsOf(bulk, rereadRequests),
    ({ statement }) => statement.length,
    bulkBytesMax,
  )) {
    const items = part.map(({ item }) => item);
    const statements = part.map(({ statement }) => statement);
    rereadRequests.push(...(await sendPart({ ...bulk, items }, statements, sending)));
  }
  return rereadRequests;
}

async function sendPart(bulk: Bulk, statements: readonly Uint8Array[], sending: Sending): Promise<RereadRequest[]> {
  const outcome = await sending.writer.write(writeOf(bulk, statements), sending.signal);
  const rereadRequests = outcome.failures.map((failure) => rereadOf(bulk, failure));
  const unmatched = bulk.items.length - outcome.n - outcome.failures.length;
  if (bulk.addsFields && unmatched > 0) return [...rereadRequests, ...(await sendAgain(bulk, outcome, sending))];
  // The ordered command of a capped collection stops at a failure: later statements have not matched either.
  if (bulk.kind === 'delta' && unmatched > 0)
    return bulk.collection.capped
      ? bulk.items.map((item) => rereadRequest(item, 'unmatchedDelta'))
      : [...rereadRequests, ...(await unmatchedOf(bulk, outcome, unmatched, sending))];
  return bulk.collection.capped ? await restOfOrdered(bulk, outcome, sending, rereadRequests) : rereadRequests;
}

/**
 * Sends a bulk as pipelines, which put a field last whether or not it is there: some of the documents have one, or are
 * missing, and the reply does not say which. For the other documents this changes nothing.
 */
async function sendAgain(bulk: Bulk, { failures }: WriteOutcome, sending: Sending): Promise<RereadRequest[]> {
  const failed = new Set(failures.map((failure) => itemOf(bulk.items, failure)));
  return sendBulk({ ...bulk, addsFields: false, items: bulk.items.filter((item) => !failed.has(item)) }, sending);
}

/**
 * The deltas of a bulk that matched nothing; the reply has only their number. These are the ones whose documents are
 * missing. When the numbers differ, all deltas of the bulk.
 */
async function unmatchedOf(
  bulk: Bulk,
  { failures }: WriteOutcome,
  unmatched: number,
  { findPresent, signal }: Sending,
): Promise<RereadRequest[]> {
  const failed = new Set(failures.map((failure) => itemOf(bulk.items, failure)));
  const others = bulk.items.filter((item) => !failed.has(item));
  const present = await findPresent(bulk.collection, others, signal);
  const missing = others.filter((item) => present?.has(item) !== true);
  return (missing.length === unmatched ? missing : others).map((item) => rereadRequest(item, 'unmatchedDelta'));
}

/** Sends the statements after the first failure, at which an ordered command stops. */
async function restOfOrdered(
  bulk: Bulk,
  { failures: [failed] }: WriteOutcome,
  sending: Sending,
  rereadRequests: RereadRequest[],
): Promise<RereadRequest[]> {
  if (failed === undefined || failed.index + 1 >= bulk.items.length) return rereadRequests;
  const rest = { ...bulk, items: bulk.items.slice(failed.index + 1) };
  return [...rereadRequests, ...(await sendBulk(rest, sending))];
}

function writeOf({ collection, kind }: Bulk, statements: readonly Uint8Array[]): RawWrite {
  const { destination, capped } = collection;
  return {
    database: destination.database,
    collection: destination.name,
    kind: writeKind(kind),
    ordered: capped,
    statements,
  };
}

/**
 * The statements of a bulk, built lazily: all of them at once may take far more memory than their events.
 * @param rereadRequests receives the items whose statement no server accepts
 */
function* statementsOf(
  { collection, kind, addsFields, items }: Bulk,
  rereadRequests: RereadRequest[],
): Generator<{ item: BatchItem; statement: Uint8Array }> {
  const options: ReplaceOptions = {
    isBucket: collection.isSeries,
    simpleCollation: collection.collated && collection.destinationKey.length > 0,
    ...(kind === 'insert' ? {} : { builder: new DocumentBuilder(statementBuffer_bytes) }),
  };
  for (const item of items) {
    const statement = statementOf(item, options, addsFields);
    const reason = unsendable(item, statement);
    if (reason === null) yield { item, statement };
    else rereadRequests.push(rereadRequest(item, reason));
  }
}

function writeKind(kind: Bulk['kind']): RawWrite['kind'] {
  if (kind === 'insert' || kind === 'delete') return kind;
  return 'update';
}

function statementOf({ action }: BatchItem, options: ReplaceOptions, addsFields: boolean): Uint8Array {
  switch (action.kind) {
    case 'insert':
      return action.document;
    case 'upsert':
      return replaceStatement(action.filter, action.document, options);
    case 'delta': {
      const { delta } = action;
      if (addsFields && needsAbsence(delta)) {
        const write = (builder: DocumentBuilder): void => writeForAbsent(builder, delta);
        return updateStatement(absentFilter(action.filter, delta), { write }, options);
      }
      return updateStatement(action.filter, { write: (builder) => writeDelta(builder, delta) }, options);
    }
    case 'delete':
      return deleteStatement(action.filter, options);
  }
}

function unsendable({ action, collection }: BatchItem, statement: Uint8Array): RereadReason | null {
  if (action.kind === 'upsert') return rereadOfUpsert(statement, action.document, collection);
  return statement.length > statementBytesMax ? 'largeStatement' : null;
}

function rereadOf(bulk: Bulk, failure: WriteFailure): RereadRequest {
  const item = itemOf(bulk.items, failure);
  const reason = rereadOfRefusal(bulk.collection, failure.code);
  if (reason !== null) return rereadRequest(item, reason);
  if (bulk.kind === 'delta') return rereadRequest(item, 'inexactDelta');
  throw writeRefused(bulk.collection, failure.code);
}

function rereadRequest(item: BatchItem, reason: RereadReason): RereadRequest {
  return { collection: item.collection, id: item.id, reason, time: item.time };
}

function itemOf(items: readonly BatchItem[], failure: WriteFailure): BatchItem {
  const item = items[failure.index];
  if (item === undefined) throw new ConvoyError('internalError', 'A reply named a statement that was not sent.');
  return item;
}

/**
 * Finds the statements of one bulk whose document is on the destination, by their full keys.
 * @returns null when a query cannot find out
 */
export type FindPresent = (
  collection: SyncedCollection,
  items: readonly BatchItem[],
  signal: AbortSignal,
) => Promise<ReadonlySet<BatchItem> | null>;

/** Queries the destination at majority, which includes every acknowledged write. Reads only the keys. */
export function presentOn(destination: NodeClient, retrying: Retrying): FindPresent {
  return async (collection, items, signal) => {
    const ids = items.map(({ id }) => id);
    if (!ids.every(isLossless)) return null;
    const command = {
      find: collection.destination.name,
      filter: idFilter(ids),
      projection: keyFields(collection),
      readConcern: { level: 'majority' },
    };
    const keys = await retrying(
      'look for documents of updates',
      () => readKeys(destination, collection, command, signal),
      signal,
    ).catch((error: unknown) => {
      if (!mayReadLater(error)) throw error;
      return null;
    });
    return keys === null ? null : new Set(items.filter(({ action }) => keys.has(keyText(action.filter))));
  };
}

function keyFields({ destinationKey }: SyncedCollection): Document {
  const beside = destinationKey.map(({ field }) => field).filter((field) => !isOfId(field));
  return Object.fromEntries([...beside, '_id'].map((field) => [field, 1]));
}

async function readKeys(
  destination: NodeClient,
  collection: SyncedCollection,
  command: Document,
  signal: AbortSignal,
): Promise<Set<string>> {
  const cursor = await destination.openCursor(collection.destination.database, command, { signal });
  const keys = new Set<string>();
  for await (const { documents } of batchesOf(cursor, signal)) {
    for (const document of documents) {
      const id = findValue(document, '_id');
      if (id !== null) keys.add(keyText(fullKeyFilter(document, collection.destinationKey, id)));
    }
  }
  return keys;
}

function keyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}
