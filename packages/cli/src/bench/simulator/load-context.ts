import type { MongoClient, Timestamp } from 'mongodb';
import type { ChangeKind } from './load-order.js';

/** What the steps share. */
export interface LoadContext {
  router: MongoClient;
  shard: MongoClient;
  documents: number;
  /** When the writes of the hashed collection began, for reads at a time and streams. */
  started: Map<ChangeKind, Timestamp>;
  /** Documents of the hashed collection that lay on the shard before they were deleted. */
  shardDocuments: number;
}

/** Documents and bytes that a step moved. */
export interface Moved {
  documents: number;
  bytes: number;
}
