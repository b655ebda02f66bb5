import type { Document, Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
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

/** Seconds that an oplog reaches back, or will when it is full; infinite while that is unknown. */
export function reachOf({ covered_seconds, fullness }: OplogWindow): number {
  if (fullness > fullFraction) return covered_seconds;
  return covered_seconds < judgedMin_seconds ? Infinity : covered_seconds / Math.max(fullness, Number.EPSILON);
}

/** Time of the oldest entry (1) or the latest (-1), in seconds since 1970; null for an empty oplog. */
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

/**
 * The error to end with if the servers have lost changes that Convoy has not read. It names the required time and, if
 * the oplogs can be read, how far they reach back.
 * @param clients to shards; routers do not show oplogs
 * @param position the time from which the change stream must be read
 */
export async function historyLost(
  clients: readonly NodeClient[],
  position: bigint,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const reaches = await Promise.all(clients.map((client) => oldestText(client, signal)));
  const reported = reaches.filter((reach) => reach !== null);
  const reach =
    reported.length === 0
      ? 'The oplog of the source does not reach back that far.'
      : `The oplog reaches back to ${reported.join(', ')}.`;
  return new ConvoyError(
    'oplogHistoryLost',
    `The change stream must be read from ${textOf(secondsOf(position))}. ${reach} Start anew with a larger oplog.`,
  );
}

/** Null if the oplog cannot be read; the description then omits it. */
async function oldestText(client: NodeClient, signal: AbortSignal): Promise<string | null> {
  const oldest_seconds = await edge_seconds(client, 1, signal).catch(() => null);
  return oldest_seconds === null ? null : `${textOf(oldest_seconds)} (${client.label})`;
}

function textOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
