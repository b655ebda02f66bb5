import type { Document } from 'mongodb';
import type { Metadata, MetadataCollection } from './metadata.js';
import { type MigrationRecord, MigrationRecords } from './migration-record.js';

/** Collections with another name in releases before 2.0. */
const renamedCollections: readonly (readonly [former: string, name: MetadataCollection])[] = [
  ['shares', 'tasks'],
  ['repairs', 'rereads'],
  ['definitions', 'ddlChanges'],
];

/** Fields of a task record with another name in releases before 2.0, for `$rename`. */
const renamedTaskFields: Document = {
  begun: 'applyWatermark',
  consented: 'acknowledged',
  reverseTold: 'reverseRequested',
  'verification.figures': 'verification.stats',
};

/** The same of the migration record. */
const renamedRecordFields: Document = {
  shareIds: 'taskIds',
  definitions: 'ddlChanges',
  horizon: 'ddlWatermark',
  rollCall: 'memberCheck',
};

/** Collections whose documents belong to a task and name it. */
const ofTasks = ['partitions', 'rereads', 'verificationParts', 'mismatches'] as const;

/**
 * Renames the metadata of a release before 2.0, which ends the work of its instances. Several processes may do this at
 * once, and one may finish the work of another: each change applies to former names only.
 * @param own the present release
 * @param countsAnew resets the copied bytes and documents to 0, of an unknown total
 * @returns the new record
 */
export async function takeOverMetadata(
  metadata: Metadata,
  recorded: { release: string },
  own: string,
  countsAnew: boolean,
  signal: AbortSignal,
): Promise<MigrationRecord | null> {
  for (const [former, name] of renamedCollections) await metadata.renameCollection(former, name, signal);
  for (const { _id, epoch } of await metadata.find('tasks', { begun: { $exists: true } }, signal)) {
    await takeOverTask(metadata, { _id: String(_id), epoch: Number(epoch) }, countsAnew, signal);
  }
  const set = { release: own, ...(countsAnew && { estimatedTotalBytes: null }) };
  const update = { $rename: renamedRecordFields, $set: set };
  await metadata.updateOne('migration', { release: recorded.release }, update, signal);
  return new MigrationRecords(metadata).read(signal);
}

/** Raises the task's epoch, in its documents first: its former owner can write none of them any more. */
async function takeOverTask(
  metadata: Metadata,
  { _id, epoch }: { _id: string; epoch: number },
  countsAnew: boolean,
  signal: AbortSignal,
): Promise<void> {
  const next = { epoch: epoch + 1 };
  if (countsAnew) {
    const zero = { 'partitions.$[].bytes': 0, 'partitions.$[].documents': 0 };
    await metadata.updateMany('partitions', { share: _id, partitions: { $type: 'object' } }, { $set: zero }, signal);
  }
  for (const collection of ofTasks) {
    await metadata.updateMany(collection, { share: _id }, { $set: next, $rename: { share: 'task' } }, signal);
  }
  const set = { ...next, ...(countsAnew && { copied: { bytes: 0, documents: 0 } }) };
  const former = { _id, epoch, begun: { $exists: true } };
  await metadata.updateOne('tasks', former, { $set: set, $rename: renamedTaskFields }, signal);
}

/** Sets the present release in a record with today's names; earlier releases refuse it from then on. */
export async function raiseRelease(
  metadata: Metadata,
  record: MigrationRecord,
  own: string,
  signal: AbortSignal,
): Promise<MigrationRecord> {
  if (record.release === own) return record;
  await metadata.updateOne('migration', { release: record.release }, { $set: { release: own } }, signal);
  return { ...record, release: own };
}
