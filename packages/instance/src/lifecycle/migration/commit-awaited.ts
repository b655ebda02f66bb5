import type { MigrationRecord } from '../../store/migration-record.js';
import type { MigrationView } from './migration-watch.js';

/** Tells that documents which share a key of a unique index hold a commit. */
export const heldWarning = 'commitHeldByDuplicates';

/** Whether documents that share a key of a unique index hold a commit. */
export function isHeld({ warnings }: Pick<MigrationRecord, 'warnings'>): boolean {
  return warnings.some(({ name }) => name === heldWarning);
}

/**
 * Whether a commit goes from hand to hand: from the command to the last share until the destination is to be opened. Not
 * while it waits for people, who may take hours.
 */
export function isCommitAwaited({ record, tasks }: MigrationView): boolean {
  if (record.phase === 'committing') return !isHeld(record);
  return record.phase === 'syncing' && record.taskIds.every((id) => tasks.get(id)?.commitRequested === true);
}

/** Whether the commit waits, or is about to, for streams to pass a time: they wait for events that no longer come. */
export function isStreamAwaited(view: MigrationView): boolean {
  const { commit, lastLook } = view.record;
  return isCommitAwaited(view) && (commit?.sealed !== true || (lastLook ?? null) !== null);
}

/** Whether the share still has to apply what lies below the commit time, or the time is about to be taken. */
export function isDraining({ record, tasks }: MigrationView, taskId: string): boolean {
  const { phase, commit } = record;
  if (phase !== 'committing' || commit?.sealed === true) return false;
  return commit === null || tasks.get(taskId)?.drained?.round !== commit.round;
}
