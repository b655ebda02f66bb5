import { BSON, type Document, Timestamp } from 'mongodb';
import { encodeValue, type RawValue } from '../../../src/bson/scan.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import type { Retrying } from '../../../src/async/retry.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { modelNamespace, modelUuid } from './change-events.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

/** No collection has a query that chooses its documents, nor another name on the destination. */
export const wholeCollections = { filter: { documentFilter: () => undefined }, remap: noRemap };

/** A collection sharded by `sk` on both sides, with every document owned. */
export function collectionOf(changes: Partial<SyncedCollection> = {}): SyncedCollection {
  const key = [{ field: 'sk', hashed: false }];
  return {
    uuid: modelUuid,
    ...modelNamespace,
    destination: { ...modelNamespace, ...(changes.name !== undefined && { name: changes.name }) },
    notBefore: 0n,
    capped: false,
    collated: false,
    readBy: 'uuid' as const,
    showsOrphans: false,
    sourceKey: key,
    destinationKey: key,
    owns: () => true,
    ...changes,
  };
}

export function bytesOf(document: Document | Map<string, unknown>): Uint8Array {
  return BSON.serialize(document);
}

/** A document with the deprecated undefined, which drivers do not write, as the value of `sk` in the place of null. */
export function withUndefined(document: Document): Uint8Array {
  const bytes = Buffer.from(bytesOf(document));
  bytes[bytes.indexOf(Buffer.from('\x0ask\0'))] = 0x06;
  return bytes;
}

export function rawOf(value: unknown): RawValue {
  return encodeValue(value);
}

/** An event of the document `{_id, sk: 1}`. */
export function changeOf(id: unknown, time: bigint, changes: Partial<ChangeEvent> = {}): ChangeEvent {
  return {
    operation: 'insert',
    time,
    uuid: modelUuid,
    id: rawOf(id),
    documentKey: bytesOf({ sk: 1, _id: id }),
    fullDocument: null,
    updateDescription: null,
    inTransaction: false,
    bytes: 100,
    ...changes,
  };
}

export function insertOf(id: unknown, time: bigint, fields: Document = {}): ChangeEvent {
  return changeOf(id, time, { operation: 'insert', fullDocument: bytesOf({ _id: id, sk: 1, ...fields }) });
}

export function updateOf(
  id: unknown,
  time: bigint,
  updatedFields: Document,
  changes: Partial<ChangeEvent> = {},
): ChangeEvent {
  const updateDescription = bytesOf({ updatedFields, removedFields: [], truncatedArrays: [] });
  return changeOf(id, time, { operation: 'update', updateDescription, ...changes });
}

export const zeroTimestamp = new Timestamp({ t: 0, i: 0 });

/** Runs everything once. */
export const once: Retrying = (_label, operation) => operation();

/** Runs again after every failure, up to the number of times. */
export function times(count: number): Retrying {
  return async (_label, operation) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await operation();
      } catch (error) {
        if (attempt >= count) throw error;
      }
    }
  };
}

export const never: AbortSignal = new AbortController().signal;

/** Lets everything happen that waits for nothing but promises. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
