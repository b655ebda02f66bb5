import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { hasZeroTimestamp } from '../bson/sent-value.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import { BatchSize } from '../cluster/reads.js';
import type { RawCursor } from '../cluster/node-client.js';
import { classify, duplicateKeyCode, historyIncompleteCode } from '../cluster/failure.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { writeRefused } from '../store/write-refused.js';
import { untilCopied } from './attempts.js';
import { type CappedReading, UncertainEnd } from './capped-end.js';
import type { PartitionCopy } from './copy-dependencies.js';
import { abandon, beginReading, closePartition } from './copy-partition.js';
import { idOf, upsertStatement } from './partition-writer.js';

/**
 * Copies a capped collection in natural order, one insert in flight. Servers before 8.0 cannot read it at one time.
 * The copy is a prefix of the insertion order: it includes the buffered inserts up to the last copied document, and the
 * later ones follow in order. Every further attempt starts with an empty collection.
 * @throws ConvoyError `cappedCollectionBusy` when writers keep overwriting the documents to read, or change more than
 * the budget holds
 */
export async function copyCapped(copy: PartitionCopy): Promise<void> {
  const { deps, stop } = copy;
  await untilCopied(copy, {
    attempt: () => deps.retrying('copy a capped collection', () => attemptCapped(copy), stop),
    passes: (error: unknown) =>
      error instanceof UncertainEnd || ['historyLost', 'catalogChanged'].includes(classify(error)),
    tooMany: () => tooBusy(copy.table.collection),
  });
}

async function attemptCapped(copy: PartitionCopy): Promise<void> {
  const { table, partition, deps, stop } = copy;
  try {
    const begin = await beginReading(copy);
    if (partition.dirty) await deps.restarts.recreate(table.collection.uuid, stop);
    partition.markDirty();
    await table.persist();
    const reading = await copyInOrder(copy, begin);
    partition.endReading(reading.end);
    await deps.cappedEnds.settle(partition, reading, stop);
    await closePartition(copy);
  } catch (error) {
    if (!partition.closing) abandon(copy);
    throw error;
  }
}

async function copyInOrder(copy: PartitionCopy, begin: bigint): Promise<CappedReading> {
  const { table, partition, deps, stop } = copy;
  const size = new BatchSize(table.collection.documentBytes ?? 0);
  const cursor = await deps.retrying('read a capped collection', () => open(copy, begin, size.documents), stop);
  let last: RawValue | null = null;
  let end = begin;
  try {
    for (let batch = cursor.first; ; batch = await cursor.next({ signal: stop, batchDocumentsMax: size.documents })) {
      size.received(batch);
      if (batch.operationTime !== undefined) end = highestTime([end, timeOf(batch.operationTime)]);
      await insertInOrder(copy, batch.documents);
      partition.wrote(batch.documents.length, batch.bytes);
      const final = batch.documents.at(-1);
      if (final !== undefined) last = ownedValue(idOf(final));
      if (!cursor.open) return { last, end };
    }
  } finally {
    await cursor.close();
  }
}

function open({ table, deps, stop: signal }: PartitionCopy, begin: bigint, batchSize: number): Promise<RawCursor> {
  const { database, name } = table.collection;
  const command = {
    find: name,
    sort: { $natural: 1 },
    batchSize,
    readConcern: { level: 'majority', afterClusterTime: timestampOf(begin) },
  };
  return deps.shard.openCursor(database, command, { signal });
}

/** Sends one write after the other. Documents that an insert would change (zero timestamps) are upserted. */
async function insertInOrder({ table, deps, hard }: PartitionCopy, documents: readonly Uint8Array[]): Promise<void> {
  const { database, name: collection } = table.collection.destination;
  for (const { kind, statements } of runsOf(documents, table.collection)) {
    const outcome = await deps.writer.write({ database, collection, kind, statements, ordered: true }, hard);
    const failure = outcome.failures[0];
    if (failure?.code === duplicateKeyCode || failure?.code === historyIncompleteCode) throw new UncertainEnd();
    if (failure !== undefined) throw writeRefused(table.collection, failure.code);
  }
}

/** Statements in the order of the documents, grouped into runs of one kind. */
function runsOf(
  documents: readonly Uint8Array[],
  collection: SyncedCollection,
): { kind: 'insert' | 'update'; statements: Uint8Array[] }[] {
  const runs: { kind: 'insert' | 'update'; statements: Uint8Array[] }[] = [];
  for (const document of documents) {
    const kind = hasZeroTimestamp(document) ? 'update' : 'insert';
    const statement = kind === 'update' ? upsertStatement(document, collection) : document;
    const last = runs.at(-1);
    if (last?.kind === kind) last.statements.push(statement);
    else runs.push({ kind, statements: [statement] });
  }
  return runs;
}

function tooBusy({ database, name }: SyncedCollection): ConvoyError {
  return new ConvoyError(
    'cappedCollectionBusy',
    `The capped collection ${database}.${name} changes faster than it can be copied. ` +
      'Exclude it, slow down its writers or raise memoryBytesMax.',
  );
}
