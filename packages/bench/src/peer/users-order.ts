/** The order of a process of users, as JSON in its argument. */
export interface UsersOrder {
  /** Connection string of the cluster that they use. */
  source: string;
  database: string;
  collection: string;
  documentBytes: number;
  /** Loaded documents, with `_id`s from 0. */
  documents: number;
  /** New documents get `_id`s from here on. */
  firstNewId: number;
  /** Each user sends one operation after the other; all together have this rate at most. */
  users: number;
  operationsPerSecond: number;
  duration_seconds: number;
}

/** What the users saw. */
export interface UsersResult {
  seconds: number;
  operations: number;
  p50_ms: number;
  p99_ms: number;
}

/** The value that this part of all values, 0 to 1, does not exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
  if (value === undefined) throw new RangeError('a percentile of no values');
  return value;
}
