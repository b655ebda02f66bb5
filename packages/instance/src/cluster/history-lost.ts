import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { secondsOf } from './cluster-time.js';
import type { Door } from './door.js';
import { readOldest } from './oplog-window.js';

/**
 * What to end with when the servers have lost changes that were not read yet: from when they were needed and, as far as
 * the oplogs can be looked at, how far those reach back.
 * @param doors to shards; routers do not show oplogs
 * @param position the time from which the change stream has to be read
 */
export async function historyLost(doors: readonly Door[], position: bigint, signal: AbortSignal): Promise<ConvoyError> {
  const reaches = await Promise.all(doors.map((door) => reachOf(door, signal)));
  const told = reaches.filter((reach) => reach !== null);
  const reach = told.length === 0 ? 'The oplog of the source does not reach back that far.' : `The oplog reaches back to ${told.join(', ')}.`;
  return new ConvoyError('oplogHistoryLost', `The change stream has to go on from ${textOf(secondsOf(position))}. ${reach} Start anew with a larger oplog.`);
}

/** Null when the oplog cannot be read: what is told then is told without it. */
async function reachOf(door: Door, signal: AbortSignal): Promise<string | null> {
  const oldest_seconds = await readOldest(door, signal).catch(() => null);
  return oldest_seconds === null ? null : `${textOf(oldest_seconds)} (${door.label})`;
}

function textOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
