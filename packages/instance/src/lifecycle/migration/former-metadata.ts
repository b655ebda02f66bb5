import type { Metadata } from '../../store/metadata.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import { takeOverMetadata } from '../../store/take-over-release.js';
import { mustRecountCopy, usesOldNames } from './release.js';

/**
 * After a live upgrade from a release before 2.0: gives its metadata today's names before anything else is read.
 * @param own the present release
 * @returns the record under today's names; null when a cleanup has removed it meanwhile
 */
export function withTodaysNames(
  metadata: Metadata,
  record: MigrationRecord,
  own: string,
  signal: AbortSignal,
): Promise<MigrationRecord | null> {
  if (!usesOldNames(record.release)) return Promise.resolve(record);
  return takeOverMetadata(metadata, record, own, mustRecountCopy(record.release), signal);
}
