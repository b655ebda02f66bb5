import type { Long, Timestamp } from 'mongodb';
import type { RawBatch } from '../node-client.js';

/**
 * Options of a cursor command: documents stay bytes, views of the reply, and everything else is decoded. The driver's
 * option `raw` would leave the `topologyVersion` of an error undecoded too, and the driver fails on it when a primary
 * steps down.
 */
export const cursorReplyOptions = {
  fieldsAsRaw: { firstBatch: true, nextBatch: true },
  promoteLongs: false,
  enableUtf8Validation: false,
} as const;

/** The `cursor` field of a reply that was read with these options. */
export interface DecodedCursor {
  /** 0 if the cursor is exhausted. */
  id: Long;
  /** `database.collection` for the following commands. */
  ns: string;
  firstBatch?: Uint8Array[];
  nextBatch?: Uint8Array[];
  postBatchResumeToken?: { _data?: unknown; $recordId?: unknown };
  atClusterTime?: Timestamp;
}

/** A batch of a cursor, with its documents as views of the reply's bytes. */
export interface CursorReply extends RawBatch {
  id: Long;
  namespace: string;
}

/** The batch in a reply. Only tokens in the form of change streams can be resumed from. */
export function readCursorReply(cursor: DecodedCursor): CursorReply {
  const documents = cursor.firstBatch ?? cursor.nextBatch ?? [];
  const position = cursor.postBatchResumeToken;
  const token = position?._data;
  const hasRecord = position?.$recordId !== undefined && position.$recordId !== null;
  return {
    id: cursor.id,
    namespace: cursor.ns,
    documents,
    bytes: documents.reduce((sum, { length }) => sum + length, 0),
    ...(typeof token === 'string' && { resumeToken: token }),
    ...(hasRecord && { recordToken: position }),
    ...(cursor.atClusterTime !== undefined && { atClusterTime: cursor.atClusterTime }),
  };
}
