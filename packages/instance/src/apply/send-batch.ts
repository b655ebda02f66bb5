import { ConvoyError } from '@convoy/api/errors/convoy-error';
import {
  deleteStatement,
  DocumentBuilder,
  replaceStatement,
  type StatementOptions,
  updateStatement,
} from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import type { RawWrite, WriteFailure, WriteOutcome } from '../cluster/node-client.js';
import { bulkBytesMax, partsWithin, statementBytesMax } from '../cluster/driver/write-limits.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { RereadRequest, RereadReason } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { rereadOfUpsert, rereadOfRefusal, writeRefused } from '../store/write-refused.js';
import { writeDelta } from './delta-pipeline.js';
import type { FindPresent } from './find-present.js';
import type { WriteBatch, BatchItem } from './write-batch.js';

/** "cannot remove from a capped collection", which servers said until they learned it with 5.0.7 and 5.3 (SERVER-63201). */
const illegalOperationCode = 20;
const cannotRemoveCodes = new Set([illegalOperationCode, 10_089]);
/** Removing a field that no document has tells whether a document is there, and changes nothing. */
const presenceProbe = new DocumentBuilder()
  .begin('0')
  .begin('$unset', elementType.array)
  .string('0', 'convoy_presence_probe')
  .end()
  .end()
  .finish();
/** Statements of a bulk are written one behind the other into buffers of this size: far more than most need, far less than a wave may have. */
const statementBuffer_bytes = 64 * 1024;

/** Statements of one kind for one collection. */
interface Bulk {
  collection: SyncedCollection;
  kind: BatchItem['action']['kind'];
  items: BatchItem[];
  /** Deletes of a capped collection that stand among its inserts. */
  removals: BatchItem[];
}

/** A share's ways to the destination's documents. */
export interface BatchDestination {
  writer: FencedWriter;
  findPresent: FindPresent;
}

/**
 * Sends a wave as one bulk command per collection and kind, all in flight together, and waits for all answers.
 * @returns the keys whose statement could not take its exact effect; they are to be read anew
 */
export async function sendBatch(
  batch: WriteBatch,
  destination: BatchDestination,
  signal: AbortSignal,
): Promise<RereadRequest[]> {
  const rereadRequests = await Promise.all(
    bulksOf(batch).map((bulk) =>
      bulk.collection.capped ? sendCapped(bulk, destination, signal) : sendBulk(bulk, destination, signal),
    ),
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
    const isOf = (bulk: Bulk): boolean => bulk.kind === kind && bulk.collection === collection;
    // A wave has few bulks, and what comes after another is mostly of the same.
    let bulk = last !== undefined && isOf(last) ? last : bulks.find(isOf);
    if (bulk === undefined) {
      bulk = { collection, kind, items: [], removals: [] };
      bulks.push(bulk);
    }
    (isRemoval ? bulk.removals : bulk.items).push(item);
    last = bulk;
  }
  return bulks;
}

/**
 * Deletes go before the inserts that they stood among: the collection is then never fuller than the source's, so that the
 * destination drops nothing that the source has kept. A destination that deletes nothing from capped collections drops
 * the oldest documents itself when it inserts: what is still there afterwards was deleted by a user of the source.
 */
async function sendCapped(bulk: Bulk, destination: BatchDestination, signal: AbortSignal): Promise<RereadRequest[]> {
  const refused = bulk.removals.length === 0 ? [] : await removeCapped(bulk, destination.writer, signal);
  const rereadRequests = bulk.items.length === 0 ? [] : await sendBulk(bulk, destination, signal);
  if (refused.length > 0) await refusePresent(bulk, refused, destination.writer, signal);
  return rereadRequests;
}

/** @returns those of the removals that the destination would not carry out because the collection is capped */
async function removeCapped(bulk: Bulk, writer: FencedWriter, signal: AbortSignal): Promise<BatchItem[]> {
  const items = bulk.removals;
  const statements = items.map(({ action }) => deleteStatement(action.filter));
  const outcome = await writer.write({ ...writeOf({ ...bulk, kind: 'delete' }, statements), ordered: false }, signal);
  return outcome.failures.map((failure) => {
    if (!cannotRemoveCodes.has(failure.code)) throw writeRefused(bulk.collection, failure.code);
    return itemOf(items, failure);
  });
}

/** @throws ConvoyError `writeRefused` when the destination still has one of the documents */
async function refusePresent(
  bulk: Bulk,
  items: readonly BatchItem[],
  writer: FencedWriter,
  signal: AbortSignal,
): Promise<void> {
  const statements = items.map(({ action }) =>
    updateStatement(action.filter, { pipeline: presenceProbe }, { simpleCollation: false }),
  );
  const outcome = await writer.write({ ...writeOf({ ...bulk, kind: 'upsert' }, statements), ordered: false }, signal);
  if (outcome.n > 0) throw writeRefused(bulk.collection, illegalOperationCode);
}

/** Sends a bulk in commands of bounded bytes, one after the other: deltas grow to many times their events when they become pipelines. */
async function sendBulk(bulk: Bulk, destination: BatchDestination, signal: AbortSignal): Promise<RereadRequest[]> {
  const rereadRequests: RereadRequest[] = [];
  for (const part of partsWithin(
    statementsOf(bulk, rereadRequests),
    ({ statement }) => statement.length,
    bulkBytesMax,
  )) {
    const items = part.map(({ item }) => item);
    const statements = part.map(({ statement }) => statement);
    rereadRequests.push(...(await sendPart({ ...bulk, items }, statements, destination, signal)));
  }
  return rereadRequests;
}

async function sendPart(
  bulk: Bulk,
  statements: readonly Uint8Array[],
  destination: BatchDestination,
  signal: AbortSignal,
): Promise<RereadRequest[]> {
  const outcome = await destination.writer.write(writeOf(bulk, statements), signal);
  const rereadRequests = outcome.failures.map((failure) => rereadOf(bulk, failure));
  const unmatched = bulk.items.length - outcome.n - outcome.failures.length;
  // The ordered command of a capped collection stops at a failure: what came after it has not matched either.
  if (bulk.kind === 'delta' && unmatched > 0)
    return bulk.collection.capped
      ? allOf(bulk)
      : [...rereadRequests, ...(await unmatchedOf(bulk, outcome, unmatched, destination, signal))];
  return bulk.collection.capped
    ? await restOfOrdered(bulk, outcome, destination, signal, rereadRequests)
    : rereadRequests;
}

/**
 * The deltas of a bulk that have matched nothing, of which the reply tells only how many they are: those whose documents are not there.
 * When that does not add up, all of them.
 */
async function unmatchedOf(
  bulk: Bulk,
  { failures }: WriteOutcome,
  unmatched: number,
  { findPresent }: BatchDestination,
  signal: AbortSignal,
): Promise<RereadRequest[]> {
  const failed = new Set(failures.map((failure) => itemOf(bulk.items, failure)));
  const others = bulk.items.filter((item) => !failed.has(item));
  const present = await findPresent(bulk.collection, others, signal);
  const missing = others.filter((item) => present?.has(item) !== true);
  return (missing.length === unmatched ? missing : others).map((item) => rereadRequest(item, 'unmatchedDelta'));
}

function allOf({ items }: Bulk): RereadRequest[] {
  return items.map((item) => rereadRequest(item, 'unmatchedDelta'));
}

/** An ordered command stops at its first failure: what came after it is sent on. */
async function restOfOrdered(
  bulk: Bulk,
  outcome: WriteOutcome,
  destination: BatchDestination,
  signal: AbortSignal,
  rereadRequests: RereadRequest[],
): Promise<RereadRequest[]> {
  const failed = outcome.failures[0];
  if (failed === undefined || failed.index + 1 >= bulk.items.length) return rereadRequests;
  const rest = { ...bulk, items: bulk.items.slice(failed.index + 1) };
  return [...rereadRequests, ...(await sendBulk(rest, destination, signal))];
}

function writeOf({ collection, kind }: Bulk, statements: readonly Uint8Array[]): RawWrite {
  const { database, name, capped } = collection;
  return { database, collection: name, kind: writeKind(kind), ordered: capped, statements };
}

/**
 * The statements of a bulk, each made when it is asked for: all of them at once may take far more memory than their events.
 * @param doubts takes the keys whose statement no server takes
 */
function* statementsOf(
  { collection, kind, items }: Bulk,
  rereadRequests: RereadRequest[],
): Generator<{ item: BatchItem; statement: Uint8Array }> {
  const options: StatementOptions = {
    simpleCollation: collection.collated && collection.destinationKey.length > 0,
    ...(kind === 'insert' ? {} : { builder: new DocumentBuilder(statementBuffer_bytes) }),
  };
  for (const item of items) {
    const statement = statementOf(item, options);
    const reason = unsendable(item, statement);
    if (reason === null) yield { item, statement };
    else rereadRequests.push(rereadRequest(item, reason));
  }
}

function writeKind(kind: Bulk['kind']): RawWrite['kind'] {
  if (kind === 'insert' || kind === 'delete') return kind;
  return 'update';
}

function statementOf({ action }: BatchItem, options: StatementOptions): Uint8Array {
  switch (action.kind) {
    case 'insert':
      return action.document;
    case 'upsert':
      return replaceStatement(action.filter, action.document, options);
    case 'delta': {
      const { delta } = action;
      return updateStatement(action.filter, { writeStages: (builder) => writeDelta(builder, delta) }, options);
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
