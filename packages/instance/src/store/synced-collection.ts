import type { Document } from 'mongodb';
import type { KeySource, ShardKeyField } from '../bson/shard-key.js';
import type { Namespace } from '../cluster/node-client.js';

/** A source collection, as the stages of one sync task see it. */
export interface SyncedCollection {
  /** UUID on the source, 32 hexadecimal digits. */
  readonly uuid: string;
  /** Its namespace on the source; `renameCollection` changes it. */
  readonly database: string;
  readonly name: string;
  /** Its namespace on the destination; changes with the other one. */
  readonly destination: Namespace;
  /** No read may be earlier: before, it had another name or was another collection. 0 when there was no change. */
  readonly notBefore: bigint;
  readonly capped: boolean;
  /** It lies in the order of `_id`: servers scan it from the lowest to the highest of several `_id`s. */
  readonly clustered?: boolean;
  /**
   * Its documents are buckets of a time series. What a stream says of a changed bucket may destroy it: 8.0 shows the
   * end of a binary column as if it were the whole. So changed ones are re-read.
   */
  readonly isSeries?: boolean;
  /** Estimated size of one document; absent when unknown. */
  readonly documentBytes?: number;
  /** Shards read a collection by UUID, also after a rename. Routers read it by name; from 6.0 they check the UUID. */
  readonly readBy: 'uuid' | 'name' | 'nameOfUuid';
  /**
   * Events may be about orphans, and nothing in them shows it: before 6.0 a multi-document write also changes orphans,
   * and a router does not report the shard of an event.
   */
  readonly showsOrphans: boolean;
  /** Its `_id` index has another collation than the simple one: this process does not know the order of its `_id`s. */
  readonly collated: boolean;
  /** The query that chooses the documents to migrate; absent when all are. */
  readonly documentFilter?: Document | undefined;
  /** Empty when unsharded. */
  readonly sourceKey: readonly ShardKeyField[];
  /**
   * The fields that name a document on the destination together with `_id`. Of a sharded source also where the
   * destination is a replica set: documents with one `_id` on two shards are two documents, and a task writes its own.
   */
  readonly destinationKey: readonly ShardKeyField[];
  /** Whether the task owns the document, or the document with this document key. */
  owns(document: Uint8Array, source: KeySource): boolean;
}

/** The collections of a sync task, by UUID. */
export type SyncedCollections = ReadonlyMap<string, SyncedCollection>;

/** Changes the namespace of a collection in place, for all stages. `to.notBefore` is the time of the rename. */
export function renameCollection(
  collection: SyncedCollection,
  to: Pick<SyncedCollection, 'database' | 'name' | 'notBefore' | 'destination'>,
): void {
  const { database, name, notBefore, destination } = to;
  Object.assign(collection, { database, name, notBefore, destination });
}
