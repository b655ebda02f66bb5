import { BSON, Long, Timestamp } from 'mongodb';
import { describe, expect, test } from 'vitest';
import {
  cursorReplyOptions,
  type DecodedCursor,
  readCursorReply,
} from '../../../../src/cluster/driver/cursor-reply.js';

const documents = Array.from({ length: 1_200 }, (_, index) => ({ _id: index, text: 'x'.repeat(index % 7) }));
const bytesOf = (cursor: object): Buffer => Buffer.from(BSON.serialize({ cursor }));
const { fieldsAsRaw, promoteLongs } = cursorReplyOptions;
const decoded = (bytes: Buffer): DecodedCursor =>
  BSON.deserialize(bytes, { fieldsAsRaw, promoteLongs })['cursor'] as DecodedCursor;
const replyOf = (cursor: object): DecodedCursor => decoded(bytesOf(cursor));

describe('the cursor of a reply', () => {
  test('its documents are views of the reply, in order', () => {
    const bytes = bytesOf({ firstBatch: documents, id: Long.fromString('9007199254740993'), ns: 'db.a.b' });
    const reply = readCursorReply(decoded(bytes));
    expect(reply.documents.map((document) => BSON.deserialize(document))).toEqual(documents);
    expect(reply.documents.every(({ buffer }) => buffer === bytes.buffer)).toBe(true);
    expect(reply.bytes).toBe(documents.reduce((sum, document) => sum + BSON.calculateObjectSize(document), 0));
    expect([reply.id.toString(), reply.namespace]).toEqual(['9007199254740993', 'db.a.b']);
  });

  test('its times and tokens', () => {
    const time = new Timestamp({ t: 4_000_000_000, i: 7 });
    const reply = readCursorReply(
      replyOf({
        nextBatch: [],
        postBatchResumeToken: { _data: '82AB' },
        atClusterTime: time,
        id: Long.ZERO,
        ns: 'db.c',
      }),
    );
    expect(reply).toMatchObject({ documents: [], bytes: 0, resumeToken: '82AB', atClusterTime: time });
    expect(reply.id.isZero()).toBe(true);
  });

  test('ignores tokens of another form', () => {
    const { resumeToken } = readCursorReply(
      replyOf({
        nextBatch: [],
        postBatchResumeToken: { _data: BSON.Binary.createFromBase64('AAEC') },
        id: Long.ZERO,
        ns: 'db.c',
      }),
    );
    expect(resumeToken).toBeUndefined();
  });
});
