import type { Document, Timestamp } from 'mongodb';
import type { Cluster, Door } from '../cluster/door.js';
import { codeOf, failureName } from '../cluster/failure.js';
import { secondsOf, timeOf } from '../cluster/cluster-time.js';
import type { Advice } from './examination.js';
import { nameSome } from './name-some.js';

/**
 * Changes are applied while data is copied, so the oplog need not outlast the copy; it has to outlast every time in which
 * nobody reads it: a pause, an outage, a destination that takes no writes.
 */
const WINDOW_RECOMMENDED_SECONDS = 6 * 3600;

/** An oplog this full loses its oldest entries as new ones come. */
const FULL_SHARE = 0.9;
/** From an oplog that is younger and not full, nothing can be said about the rate of a whole day. */
const JUDGED_SECONDS_MIN = 3600;

interface OplogWindow {
  shard: string;
  /** Seconds that the oplog reaches back, or would if it were full; null when it may not be read. */
  window_seconds: number | null;
  refusal: string;
}

/** How long the source's shards remember what nobody has read. */
export async function checkOplogWindow(source: Cluster, signal: AbortSignal): Promise<Advice> {
  if (source.access === 'router') return { result: 'unchecked', description: 'Not checked: the source is read through its router, which does not show the oplogs of the shards.' };
  const windows = await Promise.all(source.shardIds.map((id) => readWindow(id, source.shard(id), signal)));
  const unread = windows.filter(({ window_seconds }) => window_seconds === null);
  if (unread.length > 0) {
    return { result: 'unchecked', description: `Not checked: ${nameSome(unread.map(({ shard, refusal }) => `${shard} did not show its oplog: ${refusal}`))}.` };
  }
  const short = windows.filter(({ window_seconds }) => (window_seconds ?? 0) < WINDOW_RECOMMENDED_SECONDS);
  const named = (some: OplogWindow[]): string => nameSome(some.map(({ shard, window_seconds }) => `${shard} ${duration(window_seconds ?? 0)}`));
  if (short.length === 0) return { result: 'passed', description: `The oplogs reach back: ${named(windows)}.` };
  return {
    result: 'warning',
    name: 'oplogWindowShort',
    description: `The oplogs of the source reach back only: ${named(short)}, at their present rate. A pause or outage that lasts longer ends the migration; enlarge them with replSetResizeOplog.`,
  };
}

async function readWindow(shard: string, door: Door, signal: AbortSignal): Promise<OplogWindow> {
  try {
    const [first, last, fullness] = await Promise.all([edge(door, 1, signal), edge(door, -1, signal), readFullness(door, signal)]);
    const held_seconds = first === null || last === null ? 0 : secondsOf(last) - secondsOf(first);
    return { shard, window_seconds: windowOf(held_seconds, fullness), refusal: '' };
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return { shard, window_seconds: null, refusal: failureName(error) };
  }
}

function windowOf(held_seconds: number, fullness: number): number {
  if (fullness > FULL_SHARE) return held_seconds;
  return held_seconds < JUDGED_SECONDS_MIN ? Infinity : held_seconds / Math.max(fullness, Number.EPSILON);
}

async function edge(door: Door, direction: 1 | -1, signal: AbortSignal): Promise<bigint | null> {
  const command = { find: 'oplog.rs', sort: { $natural: direction }, limit: 1, projection: { ts: 1 } };
  const reply = await door.command('local', command, { signal });
  const entry = (reply.cursor as { firstBatch: { ts: Timestamp }[] }).firstBatch[0];
  return entry === undefined ? null : timeOf(entry.ts);
}

/** The filled share of the oplog; 1 when the server does not say. */
async function readFullness(door: Door, signal: AbortSignal): Promise<number> {
  const pipeline = [{ $collStats: { storageStats: {} } }, { $project: { 'storageStats.maxSize': 1, 'storageStats.size': 1 } }];
  const reply = await door.command('local', { aggregate: 'oplog.rs', pipeline, cursor: {} }, { signal });
  const row = (reply.cursor as { firstBatch: Document[] }).firstBatch[0] as { storageStats?: { size?: number; maxSize?: number } } | undefined;
  const share = Number(row?.storageStats?.size) / Number(row?.storageStats?.maxSize);
  return Number.isFinite(share) && share > 0 ? Math.min(1, share) : 1;
}

function duration(seconds: number): string {
  if (seconds === Infinity) return 'not full yet, and too young to tell';
  const hours = seconds / 3600;
  if (hours >= 72) return 'more than 72 hours';
  return hours >= 1 ? `${Math.floor(hours)} hours` : `${Math.floor(seconds / 60)} minutes`;
}
