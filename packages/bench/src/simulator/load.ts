import { type AbstractCursor, BSON, type Collection, type Document } from 'mongodb';
import { statementField } from '@convoy/instance/cluster/driver/driver-sequence';
import { benchDocument, benchDocumentBytes, benchNamespace, inBatches } from '../copy/bench-documents.js';
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

interface NumberedDocument extends Document {
  _id: number;
}

/** Concurrent write commands. */
const writesInFlight = 4;

/**
 * Inserts documents 0 to `documents` in unordered batches. Plain: `insertMany` of objects, which the driver serialises;
 * raw: an `insert` command with a document sequence of ready-made bytes.
 */
export async function insertAll({ router, documents }: LoadState, collection: string, use: DriverUse): Promise<Moved> {
  const database = router.db(benchNamespace.database);
  const target = database.collection<NumberedDocument>(collection);
  await inBatches(documents, batchDocuments, writesInFlight, async (ids) => {
    if (use === 'plain') await target.insertMany(plainBatch(ids), { ordered: false });
    else
      await database.command({
        insert: collection,
        documents: statementField('documents', rawBatch(ids)),
        ordered: false,
      });
  });
  return { documents, bytes: documents * benchDocumentBytes };
}

function plainBatch(ids: readonly number[]): NumberedDocument[] {
  return ids.map((id) => benchDocument(id) as NumberedDocument);
}

/** Copies of one serialised document with different `_id`s. */
function rawBatch(ids: readonly number[]): Uint8Array[] {
  const bytes = BSON.serialize(benchDocument(1));
  const idStart = bytes.indexOf(0, 5) + 1;
  return ids.map((id) => {
    const document = Buffer.from(bytes);
    document.writeInt32LE(id, idStart);
    return document;
  });
}

/** Updates or deletes every document of the hashed collection, one statement each. */
export async function changeAll({ router, documents }: LoadState, change: 'update' | 'delete'): Promise<Moved> {
  const target: Collection<NumberedDocument> = router.db(benchNamespace.database).collection('hashed');
  await inBatches(documents, batchDocuments, writesInFlight, async (ids) => {
    const statements =
      change === 'update'
        ? ids.map((_id) => ({ updateOne: { filter: { _id }, update: { $set: { group: -_id } } } }))
        : ids.map((_id) => ({ deleteOne: { filter: { _id } } }));
    await target.bulkWrite(statements, { ordered: false });
  });
  return { documents, bytes: documents * benchDocumentBytes };
}
