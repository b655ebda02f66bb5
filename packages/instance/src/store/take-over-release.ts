import type { Document } from 'mongodb';
import type { Metadata, MetadataCollection } from './metadata.js';
import { type MigrationRecord, MigrationRecords } from './migration-record.js';

/** Collections that releases before 2.0 stored under another name. */
const renamedCollections: readonly (readonly [former: string, name: MetadataCollection])[] = [
  ['shares', 'tasks'],
  ['repairs', 'rereads'],
  ['definitions', 'ddlChanges'],
];

/** Fields of a task's record that they stored under another name, as `$rename` takes them. */
const renamedTaskFields: Document = {
  begun: 'applyWatermark',
  consented: 'acknowledged',
  reverseTold: 'reverseRequested',
  'verification.figures': 'verification.stats',
};

/** The same of the migration's record. */
const renamedRecordFields: Document = {
  shareIds: 'taskIds',
  definitions: 'ddlChanges',
  horizon: 'ddlWatermark',
  rollCall: 'memberCheck',
};

/** What belongs to a task beside its record; each document names it. */
const ofTasks = ['partitions', 'rereads', 'verificationParts', 'mismatches'] as const;

/**
 * Gives the metadata of a release before 2.0 today's names, which ends the work of its instances. Several processes may
 * do this at once, and one may finish what another left undone: each change applies to former names alone.
 * @param own the present release
 * @param countsAnew sets the copied bytes and documents to 0 of an unknown total
 * @returns the record as it is then
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

/** The task gets its next epoch, its documents before its record: nobody writes any of it under the former one. */
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

/** Enters the present release, which earlier ones refuse from then on, into a record with today's names. */
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
