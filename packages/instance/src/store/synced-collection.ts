import type { KeySource, ShardKeyField } from '../bson/shard-key.js';

/** A source collection as the stations of one share see it. */
export interface SyncedCollection {
  /** UUID on the source, 32 hexadecimal digits. */
  readonly uuid: string;
  /** Its namespace on the source and the destination; a rename changes it. */
  readonly database: string;
  readonly name: string;
  /** No reading may be earlier: before this time it had another name, or was another collection. 0 when there was no change. */
  readonly notBefore: bigint;
  readonly capped: boolean;
  /** Estimated size of one document; left out when it is not known. */
  readonly documentBytes?: number;
  /** Shards read a collection by its UUID, whatever it is called by then; routers only by its name, which from 6.0 on has to stand for that UUID. */
  readonly readBy: 'uuid' | 'name' | 'nameOfUuid';
  /**
   * Events of the stream may be about orphans, and nobody can tell: before 6.0 a write to many documents changes them as
   * well, and a router does not say which shard an event came from.
   */
  readonly showsOrphans: boolean;
  /** Its `_id` index has a collation other than the simple one: the order of `_id`s cannot be compared here. */
  readonly collated: boolean;
  /** Empty when unsharded. */
  readonly sourceKey: readonly ShardKeyField[];
  readonly destinationKey: readonly ShardKeyField[];
  /** Whether the share owns the document, or the document with this document key. */
  owns(document: Uint8Array, source: KeySource): boolean;
}

/** The collections that a share takes part in, by UUID. */
export type SyncedCollections = ReadonlyMap<string, SyncedCollection>;

/** Gives a collection its new namespace, for all who hold it, and the time from which it bears it. */
export function renameCollection(
  collection: SyncedCollection,
  to: Pick<SyncedCollection, 'database' | 'name' | 'notBefore'>,
): void {
  const { database, name, notBefore } = to;
  Object.assign(collection, { database, name, notBefore });
}
