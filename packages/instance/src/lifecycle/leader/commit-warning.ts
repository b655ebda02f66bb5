import type { MigrationDependencies } from '../migration/migration-dependencies.js';

/**
 * Records in the migration why a commit waits.
 * @param description null when it no longer waits
 */
export async function warnOfCommit(
  { records, watch }: Pick<MigrationDependencies, 'records' | 'watch'>,
  leaderEpoch: number,
  name: string,
  description: string | null,
  signal: AbortSignal,
): Promise<void> {
  const { record } = await watch.refresh(signal);
  const others = record.warnings.filter((warning) => warning.name !== name);
  await records.updateAsLeader(
    leaderEpoch,
    { warnings: description === null ? others : [...others, { name, description }] },
    signal,
  );
  await watch.refresh(signal);
}
