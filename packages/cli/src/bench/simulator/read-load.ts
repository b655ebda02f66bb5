import type { AbstractCursor } from 'mongodb';
import { benchDocumentBytes, benchNamespace } from '../copy/bench-documents.js';
import { batchDocuments, type ChangeKind, type DriverUse, type LoadState, type Moved } from './load-order.js';

/** Reads a collection to its end. Plain: documents decoded to objects; raw: `raw: true`, documents as bytes. */
export async function readAll({ router }: LoadState, collection: string, use: DriverUse): Promise<Moved> {
  const cursor = router
    .db(benchNamespace.database)
    .collection(collection)
    .find({}, { batchSize: batchDocuments, raw: use === 'raw' });
  const { documents } = await drain(cursor, Infinity);
  return { documents, bytes: documents * benchDocumentBytes };
}

/**
 * Reads the hashed collection raw, in `_id` order, as it was when its updates started.
 * @param from the router merges its shards; a shard returns its own part
 */
export function readSnapshot({ router, shard, started }: LoadState, from: 'router' | 'shard'): Promise<Moved> {
  const client = from === 'router' ? router : shard;
  const readConcern = { level: 'snapshot', atClusterTime: started.get('update') };
  const command = {
    find: 'hashed',
    hint: { _id: 1 },
    ...(from === 'router' ? { sort: { _id: 1 } } : {}),
    batchSize: batchDocuments,
    readConcern,
  };
  const cursor = client
    .db(benchNamespace.database)
    .runCursorCommand(command, { raw: true })
    .setBatchSize(batchDocuments);
  return drain(cursor, Infinity);
}

/** Reads the events of one kind of write of the hashed collection, raw. */
export function readStream(
  { router, shard, started, documents, shardDocuments }: LoadState,
  events: ChangeKind,
  from: 'router' | 'shard',
): Promise<Moved> {
  const client = from === 'router' ? router : shard;
  const stages = [
    { $changeStream: { startAtOperationTime: started.get(events) } },
    { $match: { operationType: events } },
  ];
  const cursor = client
    .db(benchNamespace.database)
    .collection('hashed')
    .aggregate(stages, { raw: true, batchSize: batchDocuments });
  return drain(cursor, from === 'router' ? documents : shardDocuments);
}

async function drain(cursor: AbstractCursor<object>, documentsMax: number): Promise<Moved> {
  const moved: Moved = { documents: 0, bytes: 0 };
  while (moved.documents < documentsMax && (await cursor.hasNext())) {
    for (const document of cursor.readBufferedDocuments()) {
      moved.documents += 1;
      if (document instanceof Uint8Array) moved.bytes += document.length;
    }
  }
  await cursor.close();
  return moved;
}
