import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { codeOf, failureName } from '../cluster/failure.js';
import { reachOf, readOplogWindow } from '../cluster/oplog-window.js';
import type { Advice } from './examination.js';
import { nameSome } from '../catalog/name-some.js';

/**
 * Changes are applied while data is copied, so the oplog need not outlast the copy; it has to outlast every time in which
 * nobody reads it: a pause, an outage, a destination that takes no writes.
 */
const WINDOW_RECOMMENDED_SECONDS = 6 * 3600;

interface ShardWindow {
  shard: string;
  /** Seconds that the oplog reaches back, or would if it were full; null when it may not be read. */
  window_seconds: number | null;
  refusal: string;
}

/** How long the source's shards remember what nobody has read. */
export async function checkOplogWindow(source: ClusterClient, signal: AbortSignal): Promise<Advice> {
  if (source.access === 'router')
    return {
      result: 'unchecked',
      description: 'Not checked: the source is read through its router, which does not show the oplogs of the shards.',
    };
  const windows = await Promise.all(source.shardIds.map((id) => readWindow(id, source.shard(id), signal)));
  const unread = windows.filter(({ window_seconds }) => window_seconds === null);
  if (unread.length > 0) {
    return {
      result: 'unchecked',
      description: `Not checked: ${nameSome(unread.map(({ shard, refusal }) => `${shard} did not show its oplog: ${refusal}`))}.`,
    };
  }
  const short = windows.filter(({ window_seconds }) => (window_seconds ?? 0) < WINDOW_RECOMMENDED_SECONDS);
  const named = (some: ShardWindow[]): string =>
    nameSome(some.map(({ shard, window_seconds }) => `${shard} ${duration(window_seconds ?? 0)}`));
  if (short.length === 0) return { result: 'passed', description: `The oplogs reach back: ${named(windows)}.` };
  return {
    result: 'warning',
    name: 'oplogWindowShort',
    description: `The oplogs of the source reach back only: ${named(short)}, at their present rate. A pause or outage that lasts longer ends the migration; enlarge them with replSetResizeOplog.`,
  };
}

async function readWindow(shard: string, client: NodeClient, signal: AbortSignal): Promise<ShardWindow> {
  try {
    return { shard, window_seconds: reachOf(await readOplogWindow(client, signal)), refusal: '' };
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return { shard, window_seconds: null, refusal: failureName(error) };
  }
}

function duration(seconds: number): string {
  if (seconds === Infinity) return 'not full yet, and too young to tell';
  const hours = seconds / 3600;
  if (hours >= 72) return 'more than 72 hours';
  return hours >= 1 ? `${Math.floor(hours)} hours` : `${Math.floor(seconds / 60)} minutes`;
}
