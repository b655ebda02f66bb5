import type { Timestamp } from 'bson';
import { type EntryTransaction, operationBytes, type TransactionOperation } from './entry.js';
import type { Oplog } from './oplog.js';

/**
 * Limits of one `applyOps` entry: 16 MB, and any number of operations
 * (`maxNumberOfTransactionOperationsInSingleOplogEntry`).
 */
interface EntryLimits {
  readonly bytesMax: number;
  readonly operationsMax: number;
}

const entryLimits: EntryLimits = { bytesMax: 16 * 1024 * 1024, operationsMax: Infinity };

/** A transaction whose writes are in the oplog but not decided. */
export interface PreparedEntries {
  readonly prepareTime: Timestamp;
  readonly operations: readonly TransactionOperation[];
  readonly transaction: EntryTransaction;
}

/**
 * Writes a transaction of this shard alone, in as many entries as its size needs. Its events come with the last one.
 * @returns the time of the last entry, at which the writes become visible
 */
export function writeTransaction(
  oplog: Oplog,
  operations: readonly TransactionOperation[],
  transaction: EntryTransaction,
  limits: EntryLimits = entryLimits,
): Timestamp {
  const pieces = piecesOf(operations, limits);
  const previous = writePartial(oplog, pieces.slice(0, -1), transaction);
  const clusterTime = oplog.nextTime();
  if (previous === undefined) oplog.append(clusterTime, operations, transaction);
  else
    oplog.append(clusterTime, operations, transaction, {
      kind: 'last',
      written: pieces.at(-1) ?? [],
      previous,
      count: operations.length,
    });
  return clusterTime;
}

/** Writes a transaction with other participants, up to its `prepare`. It has no events yet. */
export function writePrepared(
  oplog: Oplog,
  operations: readonly TransactionOperation[],
  transaction: EntryTransaction,
  limits: EntryLimits = entryLimits,
): PreparedEntries {
  const pieces = piecesOf(operations, limits);
  const previous = writePartial(oplog, pieces.slice(0, -1), transaction);
  const prepareTime = oplog.nextTime();
  const count = previous === undefined ? {} : { count: operations.length };
  oplog.append(prepareTime, [], transaction, { kind: 'prepare', written: pieces.at(-1) ?? [], previous, ...count });
  return { prepareTime, operations, transaction };
}

/**
 * Writes the commit of a prepared transaction, with its events.
 * @param commitTime when the writes become visible, the same on all shards
 * @returns the time of the entry, which the events carry
 */
export function writePreparedCommit(oplog: Oplog, prepared: PreparedEntries, commitTime: Timestamp): Timestamp {
  oplog.learnTime(commitTime);
  const clusterTime = oplog.nextTime();
  oplog.append(clusterTime, prepared.operations, prepared.transaction, {
    kind: 'commit',
    written: [],
    previous: prepared.prepareTime,
    commitTime,
  });
  return clusterTime;
}

/** Writes the abort of a prepared transaction, which never has events. */
export function writePreparedAbort(oplog: Oplog, prepared: PreparedEntries): void {
  oplog.append(oplog.nextTime(), [], prepared.transaction, {
    kind: 'abort',
    written: [],
    previous: prepared.prepareTime,
  });
}

function writePartial(
  oplog: Oplog,
  pieces: readonly TransactionOperation[][],
  transaction: EntryTransaction,
): Timestamp | undefined {
  let previous: Timestamp | undefined;
  for (const written of pieces) {
    const clusterTime = oplog.nextTime();
    oplog.append(clusterTime, [], transaction, { kind: 'partial', written, previous });
    previous = clusterTime;
  }
  return previous;
}

function piecesOf(operations: readonly TransactionOperation[], limits: EntryLimits): TransactionOperation[][] {
  const pieces: TransactionOperation[][] = [[]];
  let bytes = 0;
  for (const operation of operations) {
    let piece = pieces.at(-1) as TransactionOperation[];
    const size = operationBytes(operation);
    if (piece.length > 0 && (piece.length >= limits.operationsMax || bytes + size > limits.bytesMax)) {
      pieces.push((piece = []));
      bytes = 0;
    }
    piece.push(operation);
    bytes += size;
  }
  return pieces;
}
