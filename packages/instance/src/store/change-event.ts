import type { RawValue } from '../bson/scan.js';

export type DataOperation = 'insert' | 'update' | 'replace' | 'delete';

/** One change of one document, as its shard's stream reported it; the parts are views into the event's bytes. */
export interface ChangeEvent {
  operation: DataOperation;
  /** Cluster time, seconds × 2^32 + increment. */
  time: bigint;
  /** Collection UUID, 32 hexadecimal digits. */
  uuid: string;
  id: RawValue;
  /** Full document key; of inserts on a shard only `_id`. */
  documentKey: Uint8Array;
  /** Of inserts and replacements. */
  fullDocument: Uint8Array | null;
  /** `updateDescription` of updates. */
  updateDescription: Uint8Array | null;
  /** True when the change was part of a transaction. */
  inTransaction: boolean;
  /** Size of the event for the bounds of buffers. */
  bytes: number;
}
