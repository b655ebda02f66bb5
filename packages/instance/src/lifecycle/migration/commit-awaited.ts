import type { MigrationView } from './migration-watch.js';

/** Whether a share's part is what the commit waits for: from its command until the destination is to be opened. */
export function isCommitAwaited({ record, shares }: MigrationView, shareId: string): boolean {
  return (record.phase === 'syncing' || record.phase === 'committing') && shares.get(shareId)?.commitRequested === true;
}

/** Whether the commit waits, or is about to, for streams to pass its time: they wait for events that no longer come. */
export function isStreamAwaited(view: MigrationView, shareId: string): boolean {
  return isCommitAwaited(view, shareId) && view.record.commit?.sealed !== true;
}

/** Whether the share still has to apply what lies below the commit time, or the time is about to be taken. */
export function isDraining({ record, shares }: MigrationView, shareId: string): boolean {
  const { phase, commit } = record;
  if (phase !== 'committing' || commit?.sealed === true) return false;
  return commit === null || shares.get(shareId)?.drained?.round !== commit.round;
}
