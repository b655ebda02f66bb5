import type { Document } from 'mongodb';
import { idClass, idFilter } from '../bson/id.js';
import { findValue } from '../bson/scan.js';
import { batchesOf, matchingAll } from '../cluster/reads.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { NodeClient } from '../cluster/node-client.js';
import { openAtTime, openPresent, readTarget } from '../cluster/snapshot-read.js';
import { commandBytesMax } from '../cluster/driver/write-command.js';
import type { RereadEntry } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** Documents by id class. */
export type DocumentsByClass = Map<string, Uint8Array[]>;

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
  return readByIds(shard, collection.database, command, entries, readTime, signal);
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
  return (await readByIds(destination, database, command, entries, 0n, signal)).documents;
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
    (await readByIds(router, collection.database, command, [entry], 0n, signal)).documents.get(entry.idClass) ?? []
  );
}

async function readByIds(
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
