import { BSON, Long } from 'mongodb';
import { benchDocument } from '../copy/bench-documents.js';
import { batchDocuments } from './load-order.js';

/** Complete replies to reads, without the header: the first batch, a middle one and the last. */
export interface StoredBatches {
  first: Buffer;
  next: Buffer;
  last: Buffer;
  /** Batches per read, including the first. */
  count: number;
}

/** Fields of OP_MSG between header and body: flags and the kind of the section. */
const bodyPrefix = Buffer.alloc(5);

/** The reply to every insert. */
export const insertReply = Buffer.concat([bodyPrefix, BSON.serialize({ n: 0, ok: 1 })]);

/** Makes the driver take the echo for a router; the reply to everything but reads and inserts. */
export const greeting = BSON.serialize({
  ismaster: true,
  isWritablePrimary: true,
  msg: 'isdbgrid',
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 13,
  ok: 1,
});

/** The replies to reading `documents` documents. */
export function storedBatches(documents: number): StoredBatches {
  const batch = Array.from({ length: batchDocuments }, (_, id) => benchDocument(id));
  const reply = (field: string, id: Long) =>
    Buffer.concat([bodyPrefix, BSON.serialize({ cursor: { [field]: batch, id, ns: 'bench.documents' }, ok: 1 })]);
  return {
    first: reply('firstBatch', Long.ONE),
    next: reply('nextBatch', Long.ONE),
    last: reply('nextBatch', Long.ZERO),
    count: Math.max(2, Math.ceil(documents / batchDocuments)),
  };
}
