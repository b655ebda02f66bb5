import { statementField } from '@convoy/instance/cluster/driver/driver-sequence';
import { BSON, type Collection, type Document } from 'mongodb';
import { benchDocument, benchDocumentBytes, benchNamespace, inBatches } from '../copy/bench-documents.js';
import { batchDocuments, type DriverUse, type LoadState, type Moved } from './load-order.js';

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
