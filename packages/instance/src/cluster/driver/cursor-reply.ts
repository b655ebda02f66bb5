import { Long, Timestamp } from 'mongodb';
import { elementType } from '../../bson/element-type.js';
import {
  bufferOf,
  elementsOf,
  findElement,
  int32At,
  readDocument,
  readString,
  readTimestamp,
} from '../../bson/scan.js';

/** The `cursor` field of a reply to a cursor command. */
export interface CursorReply {
  /** 0 if the cursor is exhausted. */
  id: Long;
  /** `database.collection` for the following commands. */
  namespace: string;
  /** The documents of `firstBatch` or `nextBatch`, as views of the reply's bytes. */
  documents: Uint8Array[];
  /** Bytes of all documents together. */
  bytes: number;
  /** `_data` of the post-batch resume token. */
  resumeToken?: string;
  atClusterTime?: Timestamp;
}

/**
 * Reads the cursor of a reply without decoding its documents, which saves the driver's work per document.
 * @param cursor bytes of the embedded document `cursor`
 * @throws RangeError or TypeError if they are malformed
 */
export function readCursorReply(cursor: Uint8Array): CursorReply {
  const bytes = bufferOf(cursor);
  const reply: CursorReply = { id: Long.ZERO, namespace: '', documents: [], bytes: 0 };
  for (const element of elementsOf(bytes)) {
    switch (element.name) {
      case 'id':
        reply.id = Long.fromBigInt(bytes.readBigInt64LE(element.start));
        break;
      case 'ns':
        reply.namespace = readString(bytes, element);
        break;
      case 'firstBatch':
      case 'nextBatch':
        addDocuments(reply, bytes, element.start);
        break;
      case 'postBatchResumeToken':
        addToken(reply, readDocument(bytes, element));
        break;
      case 'atClusterTime':
        reply.atClusterTime = new Timestamp(readTimestamp(bytes, element));
        break;
    }
  }
  return reply;
}

/** The elements of the array that starts at `start`: a type, the index as text, the document. */
function addDocuments(reply: CursorReply, bytes: Buffer, start: number): void {
  const { documents } = reply;
  let at = start + 4;
  for (;;) {
    const type = bytes[at];
    if (type === 0) return;
    if (type !== elementType.document)
      throw new TypeError(`Unexpected BSON type 0x${(type ?? 0).toString(16)} in a batch`);
    at += 2;
    while (bytes[at] !== 0) at += 1;
    at += 1;
    const end = at + int32At(bytes, at);
    if (end <= at || end > bytes.length) throw new RangeError('Malformed BSON: a document reaches beyond its batch');
    documents.push(bytes.subarray(at, end));
    reply.bytes += end - at;
    at = end;
  }
}

/** Only tokens in the form of change streams can be resumed from. */
function addToken(reply: CursorReply, token: Uint8Array): void {
  const data = findElement(token, '_data');
  if (data?.type === elementType.string) reply.resumeToken = readString(token, data);
}
