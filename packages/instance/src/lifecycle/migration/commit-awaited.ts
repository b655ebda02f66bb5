import type { MigrationRecord } from '../../store/migration-record.js';
import type { MigrationView } from './migration-watch.js';
import { hasWarning } from './recorded-warnings.js';

/** Name of the warning while documents with the same key of a unique index hold a commit. */
export const heldWarning = 'commitHeldByDuplicates';

/** Whether documents with the same key of a unique index hold a commit. */
export function isHeld(record: MigrationRecord): boolean {
  return hasWarning(record, heldWarning);
}

/** Instances that take a commit within this time have taken the same command. */
const sameCommand_ms = 60_000;

/**
 * Whether an instance has just taken a commit, so that the others take it without an offer of their own. Not long ago:
 * users may write again since, and what the offer vouches for may have ended.
 * @param now_ms since 1970
 */
export function isCommitJustRequested({ tasks }: MigrationView, now_ms: number): boolean {
  return [...tasks.values()].some(
    ({ commitRequested, requestedAt }) =>
      commitRequested && now_ms - (requestedAt?.getTime() ?? -Infinity) <= sameCommand_ms,
  );
}

/**
 * Whether a commit is passing between instances: from the command to the last sync task, until the destination opens.
 * False while it waits for people, who may take hours.
 */
export function isCommitAwaited({ record, tasks }: MigrationView): boolean {
  if (record.phase === 'committing') return !isHeld(record);
  return record.phase === 'syncing' && record.taskIds.every((id) => tasks.get(id)?.commitRequested === true);
}

/**
 * Whether the commit waits, or is about to wait, for streams to pass a time: these wait for events that may never come.
 */
export function isStreamAwaited(view: MigrationView): boolean {
  const { commit, lastLook } = view.record;
  return isCommitAwaited(view) && (commit?.sealed !== true || (lastLook ?? null) !== null);
}

/** Whether the sync task still has to apply changes below the commit time, or the leader is about to take that time. */
export function isDraining({ record, tasks }: MigrationView, taskId: string): boolean {
  const { phase, commit } = record;
  if (phase !== 'committing' || commit?.sealed === true) return false;
  return commit === null || tasks.get(taskId)?.drained?.round !== commit.round;
}
