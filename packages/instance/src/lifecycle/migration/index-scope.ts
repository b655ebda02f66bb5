import type { PlannedIndexes } from '../../catalog/plan/index-plan.js';
import { finalIndexScope, type IndexScope, isBuiltAfterCopy } from '../../catalog/plan/index-scope.js';
import type { MigrationRecord } from '../../store/migration-record.js';

/** What decides about the indexes that the destination should have now. */
export function plannedIndexes(record: MigrationRecord): PlannedIndexes {
  return { indexScope: indexScopeOf(record), skipped: record.skippedIndexes };
}

/** The indexes that the destination should have now. */
export function indexScopeOf({ options, indexBuilds }: MigrationRecord): IndexScope {
  const isDeferred = isBuiltAfterCopy(options.buildIndexes) && indexBuilds === undefined;
  return isDeferred ? 'shardKey' : finalIndexScope(options.buildIndexes);
}

/** Whether indexes that are built after the copy are still missing. */
export function awaitsIndexes({ options, indexBuilds }: MigrationRecord): boolean {
  return isBuiltAfterCopy(options.buildIndexes) && indexBuilds !== 'done';
}
