import { Int32 } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument } from '../../../src/bson/encode.js';
import { doc } from '../../../src/node/doc-fields.js';
import { readCommandBody } from '../../../src/wire/command-body.js';
import { packFrame, unpackFrame } from '../../../src/wire/compression.js';
import { readLegacyQuery } from '../../../src/wire/legacy-query.js';
import { messagePrefix, readMessage } from '../../../src/wire/op-msg.js';
import { headerBytes, messageFlag, ProtocolError } from '../../../src/wire/protocol.js';

const documents = [1, 2].map((id) => encodeDocument(doc(['_id', new Int32(id)])));

function sequence(name: string): Buffer {
  const content = Buffer.concat([Buffer.from(`${name}\0`), ...documents]);
  const section = Buffer.alloc(5);
  section.writeUInt8(1, 0);
  section.writeInt32LE(4 + content.length, 1);
  return Buffer.concat([section, content]);
}

describe('OP_MSG', () => {
  const body = encodeDocument(doc(['ping', new Int32(1)]));
  const message = Buffer.concat([messagePrefix(body.length, 1, 0, 0), body]).subarray(headerBytes);

  it('gives back the body it was made of', () => {
    expect(readMessage(message).body.equals(body)).toBe(true);
  });

  it('keeps document sequences as bytes and leaves out the checksum', () => {
    const bytes = Buffer.concat([message, sequence('documents'), Buffer.alloc(4)]);
    bytes.writeUInt32LE(messageFlag.checksumPresent, 0);
    expect(readMessage(bytes).sequences.get('documents')).toEqual(documents);
  });

  it('refuses sections that reach too far and messages without a body', () => {
    expect(() => readMessage(message.subarray(0, message.length - 1))).toThrow(ProtocolError);
    expect(() => readMessage(Buffer.concat([Buffer.alloc(4), sequence('documents')]))).toThrow(ProtocolError);
  });

  it('is the same after packing and unpacking', () => {
    const frame = Buffer.concat([messagePrefix(body.length, 7, 3, 0), body]);
    expect(unpackFrame(packFrame(frame))).toEqual(frame);
    expect(unpackFrame(frame)).toBe(frame);
  });
});

describe('commands', () => {
  it('take the statements of a bulk write out of the body', () => {
    const list = [...documents].map((bytes) => decodeDocument(bytes));
    const bytes = encodeDocument(doc(['insert', 'c'], ['documents', list], ['ordered', false], ['$db', 'test']));
    const { body, sequences } = readCommandBody(bytes);
    expect([...body]).toEqual([['insert', 'c'], ['ordered', false], ['$db', 'test']]);
    expect(sequences.get('documents')?.map((each) => Buffer.from(each))).toEqual(documents);
  });

  it('leave lists alone that hold something else than documents', () => {
    const { body, sequences } = readCommandBody(encodeDocument(doc(['insert', 'c'], ['documents', [new Int32(1)]])));
    expect(sequences.size).toBe(0);
    expect(body.get('documents')).toEqual([new Int32(1)]);
  });

  it('are read from OP_QUERY on $cmd only', () => {
    const query = (name: string): Buffer =>
      Buffer.concat([Buffer.alloc(4), Buffer.from(`${name}\0`), Buffer.alloc(8), encodeDocument(doc(['isMaster', new Int32(1)]))]);
    expect(readLegacyQuery(query('admin.$cmd')).db).toBe('admin');
    expect(() => readLegacyQuery(query('admin.things'))).toThrow(ProtocolError);
  });
});
