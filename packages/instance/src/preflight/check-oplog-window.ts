import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { codeOf, failureName } from '../cluster/failure.js';
import { reachOf, readOplogWindow } from '../cluster/oplog-window.js';
import { type Advice, unchecked, warning } from './examination.js';
import { nameSome } from '../catalog/name-some.js';

/**
 * Recommended oplog window. Convoy applies changes while it copies data, so the oplog need not outlast the copy. It
 * must outlast every time in which Convoy does not read it: a pause, an outage, a destination that refuses writes.
 */
const WINDOW_RECOMMENDED_SECONDS = 6 * 3600;

interface ShardWindow {
  shard: string;
  /** Seconds that the oplog reaches back, or would if it were full; null if it may not be read. */
  window_seconds: number | null;
  refusal: string;
}

/** Checks how far the oplogs of the source's shards reach back. */
export async function checkOplogWindow(source: ClusterClient, signal: AbortSignal): Promise<Advice> {
  if (source.access === 'router')
    return unchecked(
      'Not checked: Convoy reads the source through its router, which does not show the oplogs of the shards.',
    );
  const windows = await Promise.all(source.shardIds.map((id) => readWindow(id, source.shard(id), signal)));
  const unread = windows.filter(({ window_seconds }) => window_seconds === null);
  if (unread.length > 0) {
    const refusals = unread.map(({ shard, refusal }) => `${shard} did not show its oplog: ${refusal}`);
    return unchecked(`Not checked: ${nameSome(refusals)}.`);
  }
  const short = windows.filter(({ window_seconds }) => (window_seconds ?? 0) < WINDOW_RECOMMENDED_SECONDS);
  const named = (some: ShardWindow[]): string =>
    nameSome(some.map(({ shard, window_seconds }) => `${shard} ${duration(window_seconds ?? 0)}`));
  if (short.length === 0) return `The oplogs reach back: ${named(windows)}.`;
  return warning(
    'oplogWindowShort',
    `The oplog window of the source is too short at the current write rate: ${named(short)}. A longer pause or ` +
      'outage ends the migration. Enlarge the oplogs with replSetResizeOplog.',
  );
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
  if (seconds === Infinity) return '(not full yet, too young to estimate)';
  const hours = seconds / 3600;
  if (hours >= 72) return 'more than 72 hours';
  return hours >= 1 ? `${Math.floor(hours)} hours` : `${Math.floor(seconds / 60)} minutes`;
}
