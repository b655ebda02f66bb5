import type { LeaderDependencies } from '../migration/migration-dependencies.js';

/**
 * Sets the warning of a name in the migration's record.
 * @param description null when there is nothing to warn of any more
 */
export async function recordWarning(
  { records, watch, leaderEpoch }: LeaderDependencies,
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
