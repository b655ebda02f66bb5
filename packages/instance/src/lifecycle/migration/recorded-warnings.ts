import type { MigrationRecord } from '../../store/migration-record.js';
import type { LeaderDependencies } from './migration-dependencies.js';

/** Name of the warning while the leader cannot bring definitions of the destination into line. */
export const definitionsWarning = 'definitionsDiffer';

/** Name of the warning while an index is being built that a commit would wait for. */
export const buildsWarning = 'buildingIndexes';

/** Name of the warning while the commit could not take along what `carry` names. */
export const cannotCarryWarning = 'cannotCarry';

/** Whether a migration's record has the warning of a name. */
export function hasWarning({ warnings }: MigrationRecord, name: string): boolean {
  return warnings.some((warning) => warning.name === name);
}

/**
 * Sets the warning of a name in the migration's record.
 * @param description null when there is nothing to warn of any more
 */
export async function recordWarning(
  deps: LeaderDependencies,
  name: string,
  description: string | null,
  signal: AbortSignal,
): Promise<void> {
  // One after the other: each replaces the whole list.
  const turn = (turns.get(deps.watch) ?? Promise.resolve()).then(() => setWarning(deps, name, description, signal));
  turns.set(
    deps.watch,
    turn.catch(() => undefined),
  );
  await turn;
}

/** The last change of each process's warnings. */
const turns = new WeakMap<object, Promise<unknown>>();

async function setWarning(
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
