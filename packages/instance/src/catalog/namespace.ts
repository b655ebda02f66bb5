import type { Binary, Document, Timestamp } from 'mongodb';
import type { KeyPattern } from './key-pattern.js';

/** A chunk of a sharded collection: the owner of the shard-key range from `min` (inclusive) to `max` (exclusive). */
export interface Chunk {
  /** Bounds are documents of BSON bytes, one value per field of the key: only bytes keep what JavaScript has no value for. */
  min: Uint8Array;
  max: Uint8Array;
  shard: string;
  /** Its version: every move in the collection raises the seconds, and a split or merge the increment alone. */
  version?: Timestamp;
  /** Cluster time since which it belongs to its shard, as far as its history tells: a merge begins anew. */
  ownedSince?: Timestamp;
}

/** How a collection is sharded; null for collections that are not. */
export interface Sharding {
  /** The shard key in order; values 1 or "hashed". */
  key: KeyPattern;
  unique: boolean;
  /** All chunks in shard-key order, without gaps. */
  chunks: Chunk[];
  /** A chunk was moved to another shard since the collection was sharded, or the move was begun: there may be orphans. */
  everMoved: boolean;
}

/** One collection or view as a cluster's catalog shows it. */
export interface CatalogEntry {
  database: string;
  name: string;
  type: 'collection' | 'view';
  /** 32 hexadecimal digits; empty for views. */
  uuid: string;
  /** Options as `listCollections` shows them (capped, size, max, collation, validator, viewOn, pipeline, …), decoded by `decodeListedCollection`. */
  options: Document;
  /** Index specifications as `listIndexes` shows them, decoded by `decodeIndex`, `_id_` included; empty for views. */
  indexes: Document[];
  sharding: Sharding | null;
  /** The shard that holds an unsharded collection (its database's primary). */
  primaryShard: string;
  /** How often the database's primary has changed, counted from 1; absent on a replica set. */
  primaryVersion?: number;
  /** Estimates from `collStats`; 0 when unknown. */
  sizeBytes: number;
  documentCount: number;
  /** Where several instances read the collection through a router: the `_id`s at which their shares meet, type byte and value. */
  taskBounds?: Binary[];
}

/** All collections and views of a cluster that can be synced, in order of namespace. */
export type Catalog = CatalogEntry[];

/** `database.collection`, the field's word for a full name. */
export function namespaceOf(entry: { database: string; name: string }): string {
  return `${entry.database}.${entry.name}`;
}
