import type { Document, Timestamp } from 'mongodb';
import { secondsOf, timeOf } from './cluster-time.js';
import type { NodeClient } from './node-client.js';

/** An oplog this full loses its oldest entries as new ones arrive. */
const fullFraction = 0.9;
/** A younger oplog that is not full says nothing about the rate of a whole day. */
const judgedMin_seconds = 3600;

/** Contents of one shard's oplog. */
export interface OplogWindow {
  /** Time of the latest entry, in seconds since 1970. */
  newest_seconds: number;
  /** Seconds between the oldest entry and the latest. */
  covered_seconds: number;
  /** The filled part of the oplog, from 0 to 1. */
  fullness: number;
}

/**
 * Reads how far an oplog reaches back.
 * @param client of the shard itself: routers do not show the oplogs of shards
 * @throws what the client throws, for example if the user may not read `local.oplog.rs`
 */
export async function readOplogWindow(client: NodeClient, signal: AbortSignal): Promise<OplogWindow> {
  const [first, last, fullness] = await Promise.all([
    edge_seconds(client, 1, signal),
    edge_seconds(client, -1, signal),
    readFullness(client, signal),
  ]);
  return { newest_seconds: last ?? 0, covered_seconds: first === null || last === null ? 0 : last - first, fullness };
}

/**
 * Time of the oldest entry of an oplog, in seconds since 1970; null for an empty one.
 * @param client of the shard itself
 * @throws what the client throws
 */
export function readOldest(client: NodeClient, signal: AbortSignal): Promise<number | null> {
  return edge_seconds(client, 1, signal);
}

/** Seconds that an oplog reaches back, or will when it is full; infinite while that is unknown. */
export function reachOf({ covered_seconds, fullness }: OplogWindow): number {
  if (fullness > fullFraction) return covered_seconds;
  return covered_seconds < judgedMin_seconds ? Infinity : covered_seconds / Math.max(fullness, Number.EPSILON);
}

async function edge_seconds(client: NodeClient, direction: 1 | -1, signal: AbortSignal): Promise<number | null> {
  const command = { find: 'oplog.rs', sort: { $natural: direction }, limit: 1, projection: { ts: 1 } };
  const reply = await client.command('local', command, { signal });
  const entry = (reply.cursor as { firstBatch: { ts: Timestamp }[] }).firstBatch[0];
  return entry === undefined ? null : secondsOf(timeOf(entry.ts));
}

/** 1 if the server does not report it. */
async function readFullness(client: NodeClient, signal: AbortSignal): Promise<number> {
  const pipeline = [
    { $collStats: { storageStats: {} } },
    { $project: { 'storageStats.maxSize': 1, 'storageStats.size': 1 } },
  ];
  const reply = await client.command('local', { aggregate: 'oplog.rs', pipeline, cursor: {} }, { signal });
  const row = (reply.cursor as { firstBatch: Document[] }).firstBatch[0] as
    { storageStats?: { size?: number; maxSize?: number } } | undefined;
  const task = Number(row?.storageStats?.size) / Number(row?.storageStats?.maxSize);
  return Number.isFinite(task) && task > 0 ? Math.min(1, task) : 1;
}
