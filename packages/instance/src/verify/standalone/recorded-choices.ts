import type { IndexChoices } from '../../catalog/plan/chosen-indexes.js';
import type { SkippedIndex } from '../../catalog/plan/skipped-index.js';
import { classify } from '../../cluster/failure.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import type { ComparisonDependencies } from './comparison-dependencies.js';

/** What a migration between the compared clusters has recorded about single indexes. */
interface RecordedChoices {
  choices: IndexChoices;
  skipped: readonly SkippedIndex[];
}

/**
 * The record of the migration on the destination, until its cleanup. Without one, with that of other clusters, or where
 * the user may not read it, every index counts.
 * @throws what the client throws
 */
export async function readRecordedChoices({
  source,
  destination,
  retrying,
  signal,
}: ComparisonDependencies): Promise<RecordedChoices> {
  const record = await new MigrationRecords(new Metadata(destination.router, retrying))
    .read(signal)
    .catch((error: unknown): null => {
      if (classify(error) === 'unauthorized') return null;
      throw error;
    });
  if (record === null || !isBetween(record, source.clusterId, destination.clusterId))
    return { choices: {}, skipped: [] };
  const { indexConflicts, indexFailures } = record.options;
  return { choices: { indexConflicts, indexFailures }, skipped: record.skippedIndexes ?? [] };
}

function isBetween({ source, destination }: MigrationRecord, from: string, to: string): boolean {
  return source.clusterId === from && destination.clusterId === to;
}
