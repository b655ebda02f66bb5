import { type Document, type MongoClient, Long, type Timestamp } from 'mongodb';

/** An event as far as the tests look at it. */
export interface Event extends Document {
  _id: { _data: string };
  operationType: string;
  clusterTime: Timestamp;
  documentKey?: { _id: number; k?: number };
  fullDocument?: { _id: number; k: number };
}

/** Longest wait of one getMore; the no-ops of idle shards come sooner. */
const awaitMs = 100;

/**
 * Reads a change stream of one database up to a time.
 * @param start `$changeStream` options, for example a resume point
 * @param until every event up to here is read: the first position behind it ends the reading
 * @param batchSize events in one answer, to have streams of many batches
 */
export async function readStream(
  client: MongoClient,
  db: string,
  start: Document,
  until: Timestamp,
  batchSize: number,
): Promise<Event[]> {
  const session = client.startSession();
  try {
    const opened = await client
      .db(db)
      .command({ aggregate: 1, pipeline: [{ $changeStream: start }], cursor: { batchSize } }, { session });
    const events: Event[] = [];
    let cursor = opened['cursor'] as {
      id: bigint;
      firstBatch?: Event[];
      nextBatch?: Event[];
      postBatchResumeToken: { _data: string };
    };
    for (;;) {
      events.push(...(cursor.firstBatch ?? cursor.nextBatch ?? []));
      if (timeOfToken(cursor.postBatchResumeToken) > timeNumber(until)) break;
      const reply = await client.db(db).command(
        {
          getMore: Long.fromBigInt(BigInt(String(cursor.id))),
          collection: '$cmd.aggregate',
          batchSize,
          maxTimeMS: awaitMs,
        },
        { session },
      );
      cursor = reply['cursor'] as typeof cursor;
    }
    await client
      .db(db)
      .command({ killCursors: '$cmd.aggregate', cursors: [Long.fromBigInt(BigInt(String(cursor.id)))] }, { session });
    return events.filter(({ clusterTime }) => timeNumber(clusterTime) <= timeNumber(until));
  } finally {
    await session.endSession();
  }
}

export function timeNumber(time: Timestamp): bigint {
  return (BigInt(time.t) << 32n) | BigInt(time.i);
}

/** A token begins with its cluster time: one byte for the type, then seconds and increment. */
function timeOfToken({ _data }: { _data: string }): bigint {
  return BigInt(`0x${_data.slice(2, 18)}`);
}
