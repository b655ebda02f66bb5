import type { RawValue } from '../bson/scan.js';

export type DataOperation = 'insert' | 'update' | 'replace' | 'delete';

/** One change of one document, as the change stream reports it. The parts are views into the event's bytes. */
export interface ChangeEvent {
  operation: DataOperation;
  /** Cluster time, seconds × 2^32 + increment. */
  time: bigint;
  /** Collection UUID, 32 hexadecimal digits. */
  uuid: string;
  id: RawValue;
  /** Full document key; only `_id` for inserts on a shard. */
  documentKey: Uint8Array;
  /** Null except for inserts and replacements, and null there too when the event is too large. */
  fullDocument: Uint8Array | null;
  /** As the event has it: `rawUpdateDescription` or `updateDescription`. Null except for updates. */
  updateDescription: Uint8Array | null;
  /** True when the change was part of a transaction. */
  inTransaction: boolean;
  /** What the event counts in buffers. */
  bytes: number;
}
