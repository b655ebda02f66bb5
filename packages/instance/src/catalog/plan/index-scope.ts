import type { StartRequest } from '@convoy/api/contract/start-request';

/** The source's indexes that the destination has at a time. An index that a shard key needs is always among them. */
export type IndexScope = 'all' | 'notHashed' | 'shardKey';

type BuildIndexes = StartRequest['buildIndexes'];

/** Values of `buildIndexes` that build indexes once everything is copied. */
const AFTER_COPY: ReadonlySet<BuildIndexes> = new Set(['afterDataCopy', 'excludeHashedAfterCopy']);

/** Whether indexes are built once everything is copied; until then the destination has what shard keys need. */
export function isBuiltAfterCopy(buildIndexes: BuildIndexes): boolean {
  return AFTER_COPY.has(buildIndexes);
}

/** The indexes that the destination has at the commit. */
export function finalIndexScope(buildIndexes: BuildIndexes): IndexScope {
  if (buildIndexes === 'never') return 'shardKey';
  return buildIndexes === 'beforeDataCopy' || buildIndexes === 'afterDataCopy' ? 'all' : 'notHashed';
}
