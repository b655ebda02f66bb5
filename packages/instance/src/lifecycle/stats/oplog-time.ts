import { type OplogWindow, reachOf } from '../../cluster/oplog-window.js';

/**
 * Seconds until an oplog drops the entry at which the stream resumes, if nothing were applied from now on.
 * @param checkpoint_seconds where the stream resumes, in seconds since 1970; null before the first checkpoint
 * @returns null while unknown; never negative
 */
export function oplogRemaining(window: OplogWindow, checkpoint_seconds: number | null): number | null {
  const reach_seconds = reachOf(window);
  if (reach_seconds === Infinity) return null;
  const behind = checkpoint_seconds === null ? 0 : Math.max(0, window.newest_seconds - checkpoint_seconds);
  return Math.max(0, reach_seconds - behind);
}
