import type { Document } from 'mongodb';
import { isLossless } from '../bson/sent-value.js';
import { findValue } from '../bson/scan.js';
import { fullKeyFilter, isOfId } from '../bson/shard-key.js';
import { batchesOf } from '../cluster/reads.js';
import { idFilter } from '../bson/id.js';
import type { NodeClient } from '../cluster/node-client.js';
import { mayReadLater } from '../cluster/failure.js';
import type { Retrying } from '../async/retry.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { BatchItem } from './write-batch.js';

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
