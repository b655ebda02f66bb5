import type { Metadata } from './metadata.js';
import type { MigrationRecord } from './migration-record.js';

/**
 * Takes over a migration that a release before the copy's figures of today has begun: copied bytes and documents are
 * counted from 0 again, against an unknown total, and the record has the present release from then on. May be repeated
 * until it is done, and is done once.
 * @param own the present release
 * @returns the record as it is then
 */
export async function takeOverRelease(
  metadata: Metadata,
  record: MigrationRecord,
  own: string,
  signal: AbortSignal,
): Promise<MigrationRecord> {
  await metadata.updateMany(
    'partitions',
    { partitions: { $type: 'object' } },
    { $set: { 'partitions.$[].bytes': 0, 'partitions.$[].documents': 0 } },
    signal,
  );
  await metadata.updateMany('tasks', {}, { $set: { copied: { bytes: 0, documents: 0 } } }, signal);
  return setRelease(metadata, record, { release: own, estimatedTotalBytes: null }, signal);
}

/** Takes over a migration that an earlier release has begun, as it is. May be repeated. */
export function raiseRelease(
  metadata: Metadata,
  record: MigrationRecord,
  own: string,
  signal: AbortSignal,
): Promise<MigrationRecord> {
  return setRelease(metadata, record, { release: own }, signal);
}

async function setRelease(
  metadata: Metadata,
  record: MigrationRecord,
  set: Partial<MigrationRecord>,
  signal: AbortSignal,
): Promise<MigrationRecord> {
  await metadata.updateOne('migration', { release: record.release }, { $set: set }, signal);
  return { ...record, ...set };
}
