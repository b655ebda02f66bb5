import type { KeySource, ShardKeyField } from '../bson/shard-key.js';

/** A source collection as the stations of one share see it. */
export interface SyncedCollection {
  /** UUID on the source, 32 hexadecimal digits. */
  readonly uuid: string;
  readonly database: string;
  readonly name: string;
  readonly capped: boolean;
  /** Its `_id` index has a collation other than the simple one: the order of `_id`s cannot be compared here. */
  readonly collated: boolean;
  /** Empty when unsharded. */
  readonly sourceKey: readonly ShardKeyField[];
  readonly destinationKey: readonly ShardKeyField[];
  /** Whether the share's own shard owns the document, or the document with this document key. */
  owns(document: Uint8Array, source: KeySource): boolean;
}

/** The collections that a share takes part in, by UUID. */
export type SyncedCollections = ReadonlyMap<string, SyncedCollection>;
