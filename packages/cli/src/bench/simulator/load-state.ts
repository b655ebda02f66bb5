import type { MongoClient, Timestamp } from 'mongodb';
import type { ChangeKind } from './load-order.js';

/** Clients of all steps, and what one leaves for the next. */
export interface LoadState {
  router: MongoClient;
  shard: MongoClient;
  documents: number;
  /** When the writes of the hashed collection began, for snapshot reads and streams. */
  started: Map<ChangeKind, Timestamp>;
  /** The shard's documents of the hashed collection before their deletion. */
  shardDocuments: number;
}

/** Documents and bytes of a step. */
export interface Moved {
  documents: number;
  bytes: number;
}
