import { type Binary, BSON, type Document, type Timestamp } from 'mongodb';
import type { Namespace } from '../cluster/node-client.js';

/** A chunk of a sharded collection: the owner of the shard-key range from `min` (inclusive) to `max` (exclusive). */
export interface Chunk {
  /**
   * Bounds are BSON documents with one value per field of the key. Only bytes preserve values that JavaScript cannot
   * represent.
   */
  min: Uint8Array;
  max: Uint8Array;
  shard: string;
  /** Its version: a move raises the seconds (major number), a split or merge only the increment. */
  version?: Timestamp;
  /** Cluster time since which it belongs to its shard, according to its history; a merge restarts it. */
  ownedSince?: Timestamp;
}

/** How a collection is sharded; null for collections that are not. */
export interface Sharding {
  /** The shard key in order; values 1 or "hashed". */
  key: KeyPattern;
  unique: boolean;
  /** All chunks in shard-key order, without gaps. */
  chunks: Chunk[];
  /** True if a chunk move was started since the collection was sharded: there may be orphans. */
  everMoved: boolean;
}

/** An index that differs between the shards of one collection. */
export interface InconsistentIndex {
  /** As users know it. */
  namespace: string;
  index: string;
  /** Shards that own chunks and lack the index, or whose index differs from the first shard's. */
  shards: string[];
  /** What the shards have instead, what most have first; null where they have no index of the name. */
  forms: IndexForm[];
}

/** An index as some of the shards have it. */
export interface IndexForm {
  index: Document | null;
  shards: number;
}

/** One collection or view as a cluster's catalog shows it. */
export interface CatalogEntry {
  database: string;
  name: string;
  type: 'collection' | 'view';
  /** 32 hexadecimal digits; empty for views. */
  uuid: string;
  /**
   * Options as `listCollections` shows them (capped, size, max, collation, validator, viewOn, pipeline, …), decoded by
   * `decodeListedCollection`.
   */
  options: Document;
  /**
   * Specifications of finished indexes as `listIndexes` shows them, decoded by `decodeIndex`, `_id_` included; empty
   * for views.
   */
  indexes: Document[];
  /** The indexes that at least one shard is still building, in the same form. They are not among `indexes`. */
  buildingIndexes?: Document[];
  /** Of a destination: the indexes that differ between its shards. They are not among `indexes`. */
  inconsistentIndexes?: InconsistentIndex[];
  sharding: Sharding | null;
  /** The shard that holds an unsharded collection (its database's primary). */
  primaryShard: string;
  /** How often the database's primary changed, counted from 1; absent on a replica set. */
  primaryVersion?: number;
  /** Estimates, see `readSize`; 0 when unknown. */
  sizeBytes: number;
  documentCount: number;
  /**
   * If several instances read the collection through a router: the `_id`s between their sync tasks, type byte and
   * value.
   */
  taskBounds?: Binary[];
}

/** All collections and views of a cluster that can be synced, in order of namespace. */
export type Catalog = CatalogEntry[];

/** `database.collection`, the field's word for a full name. */
export function namespaceOf(entry: Namespace): string {
  return `${entry.database}.${entry.name}`;
}

/** The inverse of `namespaceOf`: no database has a dot in its name. */
export function namespaceFrom(text: string): Namespace {
  const dot = text.indexOf('.');
  return { database: text.slice(0, dot), name: text.slice(dot + 1) };
}

/**
 * The fields of an index or shard key in order, with plain numbers: 1, -1, "hashed", … It is a Map because JavaScript
 * objects put names that look like numbers, such as "2024", first.
 */
export type KeyPattern = ReadonlyMap<string, unknown>;

/** The key of an index specification as the catalog readers return it. */
export function keyPattern(index: Document): KeyPattern {
  return index.key as KeyPattern;
}

/** Whether two keys have the same fields with the same values in the same order. */
export function sameKey(a: KeyPattern, b: KeyPattern): boolean {
  return a.size === b.size && isKeyPrefix(a, b);
}

/** Whether a key starts with the fields and values of another, in order. */
export function isKeyPrefix(prefix: KeyPattern, key: KeyPattern): boolean {
  const fields = [...key];
  return [...prefix].every(([field, value], position) => {
    const other = fields[position];
    return other !== undefined && other[0] === field && other[1] === value;
  });
}

/**
 * A text that is equal for documents that mean the same in a catalog. Top-level fields are sorted by name, because
 * servers list options and index attributes in different orders; nested fields keep their order. Numbers count by
 * value, except in validators, pipelines and partial filters, where they keep their types.
 */
export function canonicalText(document: Document): string {
  const sorted = Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(BSON.serialize(new Map(sorted))).toString('base64');
}

/** Whether two catalog documents mean the same. */
export function sameDocument(a: Document, b: Document): boolean {
  return canonicalText(a) === canonicalText(b);
}

/** A copy of a document without some of its fields, in the same order. */
export function withoutFields(document: Document, ...fields: readonly string[]): Document {
  return Object.fromEntries(Object.entries(document).filter(([field]) => !fields.includes(field)));
}
