import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { secondsOf } from './cluster-time.js';
import type { NodeClient } from './node-client.js';
import { readOldest } from './oplog-window.js';

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
  const reaches = await Promise.all(clients.map((client) => reachOf(client, signal)));
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
async function reachOf(client: NodeClient, signal: AbortSignal): Promise<string | null> {
  const oldest_seconds = await readOldest(client, signal).catch(() => null);
  return oldest_seconds === null ? null : `${textOf(oldest_seconds)} (${client.label})`;
}

function textOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
