import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { timestampOf } from '../cluster/cluster-time.js';
import { failureName } from '../cluster/failure.js';
import type { NodeClient } from '../cluster/node-client.js';

/** Entries of the oplog below this cannot be the one: an event repeats an `_id` six times at most. */
const entryBytesMin = 2 ** 20;

/**
 * The failure to end with if a change fits into no event, even without its document: every event has the `_id` in its
 * token, twice as long, and once more in its key. It names collection and size, if the oplog may be read.
 * @param client of the shard itself: routers do not show the oplogs of shards
 * @param from everything before this time was read
 */
export async function unreadableEvent(
  client: NodeClient,
  from: bigint,
  cause: unknown,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const found = await findEntry(client, from, signal).catch(() => null);
  signal.throwIfAborted();
  const what =
    found === null
      ? `The change stream of ${client.label} has a change that fits into no reply (${failureName(cause)}).`
      : `A change of ${found.bytes} bytes in ${found.namespace} fits into no reply (${failureName(cause)}).`;
  return new ConvoyError(
    'documentTooLarge',
    `${what} Its _id is too long: events can show one of about 3 MB. Exclude the collection, or shorten such _ids ` +
      'before you start again.',
    { cause },
  );
}

async function findEntry(
  client: NodeClient,
  from: bigint,
  signal: AbortSignal,
): Promise<{ namespace: string; bytes: number } | null> {
  const pipeline = [
    { $match: { ts: { $gte: timestampOf(from) } } },
    { $project: { ns: 1, bytes: { $bsonSize: '$$ROOT' } } },
    { $match: { bytes: { $gt: entryBytesMin } } },
    { $limit: 1 },
  ];
  const reply = await client.command('local', { aggregate: 'oplog.rs', pipeline, cursor: {} }, { signal });
  const entry = (reply.cursor as { firstBatch: Document[] }).firstBatch[0];
  return entry === undefined ? null : { namespace: String(entry.ns), bytes: Number(entry.bytes) };
}
