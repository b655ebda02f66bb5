import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { deleteStatement, replaceStatement, updateStatement } from '../bson/build.js';
import type { RawWrite, WriteFailure, WriteOutcome } from '../cluster/door.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { DoubtfulKey, RepairReason } from '../store/repair-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { writeRefused } from '../store/write-refused.js';
import { deltaPipeline } from './delta.js';
import type { Wave, WaveItem } from './wave.js';

const duplicateKeyCode = 11000;
/** "cannot remove from a capped collection", which servers said until they learned it with 5.0.7 and 5.3 (SERVER-63201). */
const illegalOperationCode = 20;
const cannotRemoveCodes = new Set([illegalOperationCode, 10_089]);
/** Removing a field that no document has tells whether a document is there, and changes nothing. */
const presenceProbe = deltaPipeline({ set: new Map(), unset: new Set(['convoy_presence_probe']) });

/** Statements of one kind for one collection. */
interface Bulk {
  collection: SyncedCollection;
  kind: WaveItem['action']['kind'];
  items: WaveItem[];
  /** Deletes of a capped collection that stand among its inserts. */
  removals: WaveItem[];
}

/**
 * Sends a wave as one bulk command per collection and kind, all in flight together, and waits for all answers.
 * @returns the keys whose statement could not take its exact effect; they are to be read anew
 */
export async function sendWave(wave: Wave, writer: FencedWriter, signal: AbortSignal): Promise<DoubtfulKey[]> {
  const doubts = await Promise.all(
    bulksOf(wave).map((bulk) => (bulk.collection.capped ? sendCapped(bulk, writer, signal) : sendBulk(bulk, writer, signal))),
  );
  return doubts.flat();
}

function bulksOf(wave: Wave): Bulk[] {
  const bulks = new Map<string, Bulk>();
  for (const item of wave.items) {
    const { collection, action } = item;
    const isRemoval = collection.capped && action.kind === 'delete';
    const kind = isRemoval ? 'insert' : action.kind;
    const name = `${collection.uuid}/${kind}`;
    const bulk = bulks.get(name) ?? { collection, kind, items: [], removals: [] };
    bulks.set(name, bulk);
    (isRemoval ? bulk.removals : bulk.items).push(item);
  }
  return [...bulks.values()];
}

/**
 * Deletes go before the inserts that they stood among: the collection is then never fuller than the source's, so that the
 * destination drops nothing that the source has kept. A destination that deletes nothing from capped collections drops
 * the oldest documents itself when it inserts: what is still there afterwards was deleted by a user of the source.
 */
async function sendCapped(bulk: Bulk, writer: FencedWriter, signal: AbortSignal): Promise<DoubtfulKey[]> {
  const refused = bulk.removals.length === 0 ? [] : await removeCapped(bulk, writer, signal);
  const doubts = bulk.items.length === 0 ? [] : await sendBulk(bulk, writer, signal);
  if (refused.length > 0) await refusePresent(bulk, refused, writer, signal);
  return doubts;
}

/** @returns those of the removals that the destination would not carry out because the collection is capped */
async function removeCapped(bulk: Bulk, writer: FencedWriter, signal: AbortSignal): Promise<WaveItem[]> {
  const items = bulk.removals;
  const outcome = await writer.write({ ...writeOf({ ...bulk, kind: 'delete', items }), ordered: false }, signal);
  return outcome.failures.map((failure) => {
    if (!cannotRemoveCodes.has(failure.code)) throw writeRefused(bulk.collection, failure.code);
    return itemOf(items, failure);
  });
}

/** @throws ConvoyError `writeRefused` when the destination still has one of the documents */
async function refusePresent(bulk: Bulk, items: readonly WaveItem[], writer: FencedWriter, signal: AbortSignal): Promise<void> {
  const statements = items.map(({ action }) => updateStatement(action.filter, { pipeline: presenceProbe }, { simpleCollation: false }));
  const outcome = await writer.write({ ...writeOf({ ...bulk, items: [] }), kind: 'update', statements, ordered: false }, signal);
  if (outcome.n > 0) throw writeRefused(bulk.collection, illegalOperationCode);
}

async function sendBulk(bulk: Bulk, writer: FencedWriter, signal: AbortSignal): Promise<DoubtfulKey[]> {
  const outcome = await writer.write(writeOf(bulk), signal);
  const doubts = outcome.failures.map((failure) => doubtOf(bulk, failure));
  if (bulk.kind === 'delta' && outcome.n + outcome.failures.length < bulk.items.length) {
    return bulk.items.map((item) => doubtfulKey(item, 'unmatchedDelta'));
  }
  return bulk.collection.capped ? await restOfOrdered(bulk, outcome, writer, signal, doubts) : doubts;
}

/** An ordered command stops at its first failure: what came after it is sent on. */
async function restOfOrdered(
  bulk: Bulk,
  outcome: WriteOutcome,
  writer: FencedWriter,
  signal: AbortSignal,
  doubts: DoubtfulKey[],
): Promise<DoubtfulKey[]> {
  const failed = outcome.failures[0];
  if (failed === undefined || failed.index + 1 >= bulk.items.length) return doubts;
  const rest = { ...bulk, items: bulk.items.slice(failed.index + 1) };
  return [...doubts, ...(await sendBulk(rest, writer, signal))];
}

function writeOf(bulk: Bulk): RawWrite {
  const { database, name, capped, collated, destinationKey } = bulk.collection;
  const simpleCollation = collated && destinationKey.length > 0;
  return {
    database,
    collection: name,
    kind: writeKind(bulk.kind),
    ordered: capped,
    statements: bulk.items.map((item) => statementOf(item, simpleCollation)),
  };
}

function writeKind(kind: Bulk['kind']): RawWrite['kind'] {
  if (kind === 'insert' || kind === 'delete') return kind;
  return 'update';
}

function statementOf({ action }: WaveItem, simpleCollation: boolean): Uint8Array {
  switch (action.kind) {
    case 'insert':
      return action.document;
    case 'put':
      return replaceStatement(action.filter, action.document, { simpleCollation });
    case 'delta':
      return updateStatement(action.filter, { pipeline: deltaPipeline(action.delta) }, { simpleCollation });
    case 'delete':
      return deleteStatement(action.filter, { simpleCollation });
  }
}

function doubtOf(bulk: Bulk, failure: WriteFailure): DoubtfulKey {
  const item = itemOf(bulk.items, failure);
  if (failure.code === duplicateKeyCode) return doubtfulKey(item, 'duplicateKey');
  if (bulk.kind === 'delta') return doubtfulKey(item, 'inexactDelta');
  throw writeRefused(bulk.collection, failure.code);
}

function doubtfulKey(item: WaveItem, reason: RepairReason): DoubtfulKey {
  return { collection: item.collection, id: item.id, reason, time: item.time };
}

function itemOf(items: readonly WaveItem[], failure: WriteFailure): WaveItem {
  const item = items[failure.index];
  if (item === undefined) throw new ConvoyError('internalError', 'A reply named a statement that was not sent.');
  return item;
}
