import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { deleteStatement, replaceStatement } from '../bson/build.js';
import { findValue } from '../bson/scan.js';
import { fullKeyFilter } from '../bson/shard-key.js';
import type { RawWrite } from '../cluster/door.js';
import type { RepairEntry } from '../store/repair-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { writeRefused } from '../store/write-refused.js';
import type { RepairContext } from './repair-context.js';
import { type DocumentsByClass, readDestination, readSource } from './read-documents.js';

const duplicateKeyCode = 11000;

/** What became of the keys of one batch. */
export interface RepairOutcome {
  repaired: RepairEntry[];
  /** A document of another key stands in the way; tried again later. */
  blocked: BlockedEntry[];
  readEnd: bigint;
}

/** A key whose documents could not all be written, because the destination has others of its class. */
export interface BlockedEntry {
  entry: RepairEntry;
  /** Full keys that were refused. */
  refused: Buffer[];
  /** Full keys of the class that were on the destination before. */
  present: Buffer[];
}

/** One statement of a repair, the entry it belongs to and the full key of its document. */
interface Step {
  entry: RepairEntry;
  key: Buffer;
  statement: Uint8Array;
}

/**
 * Brings some keys of one collection to the source's state at one time: what is gone is deleted first, what exists is
 * written whole. Only documents that the share owns are touched; the entries hold later events meanwhile.
 */
export async function repairBatch(
  collection: SyncedCollection,
  entries: readonly RepairEntry[],
  context: RepairContext,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<RepairOutcome> {
  const readTime = entries.reduce((time, { dropped }) => (dropped > time ? dropped : time), context.position());
  for (const entry of entries) entry.readTime = readTime;
  await context.untilRouted(readTime, stop);
  await context.begun.cover(readTime);
  const { documents, readEnd } = await context.retrying(
    'read doubtful documents',
    () => readSource(context.shard, collection, entries, readTime, stop),
    stop,
  );
  // Transactions up to the end of the reading may be in it already: after a restart their deltas have to be in doubt.
  await context.begun.cover(readEnd);
  const present = await context.retrying(
    'read doubtful documents on the destination',
    () => readDestination(context.destination, collection, entries, stop),
    stop,
  );
  await sendSteps('delete', removals(collection, entries, documents, present), collection, context, hard);
  const blocked = await sendSteps('update', puts(collection, entries, documents, present), collection, context, hard);
  const keysOf = (entry: RepairEntry) => (present.get(entry.idClass) ?? []).map((document) => keyOf(collection, document));
  return {
    repaired: entries.filter((entry) => !blocked.has(entry)),
    blocked: [...blocked].map(([entry, refused]) => ({ entry, refused, present: keysOf(entry) })),
    readEnd,
  };
}

/** Documents of the destination under keys that the source's documents no longer have. */
function removals(
  collection: SyncedCollection,
  entries: readonly RepairEntry[],
  documents: DocumentsByClass,
  present: DocumentsByClass,
): Step[] {
  if (collection.capped) return [];
  return entries.flatMap((entry) => {
    const wanted = ownDocuments(collection, documents.get(entry.idClass)).map((document) => keyOf(collection, document));
    return ownDocuments(collection, present.get(entry.idClass))
      .map((document) => keyOf(collection, document))
      .filter((key) => !wanted.some((one) => one.equals(key)))
      .map((key) => ({ entry, key, statement: deleteStatement(key, collationOf(collection)) }));
  });
}

/** Whole documents; of a capped collection only those that are there, because order and size may not change. */
function puts(
  collection: SyncedCollection,
  entries: readonly RepairEntry[],
  documents: DocumentsByClass,
  present: DocumentsByClass,
): Step[] {
  return entries.flatMap((entry) => {
    if (collection.capped && !present.has(entry.idClass)) return [];
    return ownDocuments(collection, documents.get(entry.idClass)).map((document) => {
      const key = keyOf(collection, document);
      return { entry, key, statement: replaceStatement(key, document, collationOf(collection)) };
    });
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

/** Sends statements in one unordered bulk; returns the keys that met a duplicate, by their entry. */
async function sendSteps(
  kind: RawWrite['kind'],
  steps: readonly Step[],
  collection: SyncedCollection,
  context: RepairContext,
  hard: AbortSignal,
): Promise<Map<RepairEntry, Buffer[]>> {
  const blocked = new Map<RepairEntry, Buffer[]>();
  if (steps.length === 0) return blocked;
  const statements = steps.map((step) => step.statement);
  const write = { database: collection.database, collection: collection.name, kind, statements, ordered: false };
  const outcome = await context.writer.write(write, hard);
  for (const failure of outcome.failures) {
    const step = steps[failure.index];
    if (step === undefined) throw new ConvoyError('internalError', 'A reply named a statement that was not sent.');
    if (failure.code !== duplicateKeyCode) throw writeRefused(collection, failure.code);
    blocked.set(step.entry, [...(blocked.get(step.entry) ?? []), step.key]);
  }
  return blocked;
}
