import { type OplogWindow, reachOf } from '../../cluster/oplog-window.js';

const minute_seconds = 60;
const hour_seconds = 60 * minute_seconds;
/** Longer times are not told apart. */
const hoursShownMax = 72;
/** Shorter ones neither: whoever reads them has to act at once. */
const minutesShownMin = 15;

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

/** The time in the words that users of mongosync know. */
export function oplogTimeInWords(seconds: number | null): string {
  if (seconds === null) return 'not checked yet';
  const minutes = Math.floor(seconds / minute_seconds);
  if (minutes < minutesShownMin) return `less than ${minutesShownMin} minutes`;
  const hours = Math.floor(seconds / hour_seconds);
  if (hours >= hoursShownMax) return `more than ${hoursShownMax} hours`;
  if (hours === 0) return `${minutes} minutes`;
  return hours === 1 ? '1 hour' : `${hours} hours`;
}
