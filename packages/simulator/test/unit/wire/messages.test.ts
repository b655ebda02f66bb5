import { Int32 } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument } from '../../../src/bson/encode.js';
import type { Value } from '../../../src/bson/value.js';
import { doc } from '../../../src/node/doc-fields.js';
import { readCommandBody } from '../../../src/wire/command-body.js';
import { packFrame, unpackFrame } from '../../../src/wire/compression.js';
import { readLegacyQuery } from '../../../src/wire/legacy-query.js';
import { messagePrefix, readMessage } from '../../../src/wire/op-msg.js';
import { parseCommand } from '../../../src/wire/parsed-command.js';
import { headerBytes, messageFlag, opCode, ProtocolError } from '../../../src/wire/protocol.js';

const documents = [1, 2].map((id) => encodeDocument(doc(['_id', new Int32(id)])));

function sequence(name: string): Buffer {
  const content = Buffer.concat([Buffer.from(`${name}\0`), ...documents]);
  const section = Buffer.alloc(5);
  section.writeUInt8(1, 0);
  section.writeInt32LE(4 + content.length, 1);
  return Buffer.concat([section, content]);
}

function frameOf(flags: number, ...sections: Buffer[]): Buffer {
  const head = Buffer.alloc(headerBytes + 4);
  head.writeInt32LE(opCode.message, 12);
  head.writeUInt32LE(flags, headerBytes);
  const frame = Buffer.concat([head, ...sections]);
  frame.writeInt32LE(frame.length, 0);
  return frame;
}

describe('OP_MSG', () => {
  const body = encodeDocument(doc(['ping', new Int32(1)]));
  const bodySection = Buffer.concat([Buffer.alloc(1), body]);

  it('gives back the body it was made of', () => {
    expect(readMessage(Buffer.concat([messagePrefix(body.length, 1, 0, 0), body])).body.equals(body)).toBe(true);
  });

  it('keeps document sequences as bytes', () => {
    expect(readMessage(frameOf(0, bodySection, sequence('documents'))).sequences.get('documents')).toEqual(documents);
  });

  it('refuses a checksum by name', () => {
    expect(() => readMessage(frameOf(messageFlag.checksumPresent, bodySection))).toThrow(
      expect.objectContaining({ code: 115 }) as Error,
    );
  });

  it.each([
    ['unknown section kinds', [bodySection, Buffer.from([2, 0])], 40432],
    ['two bodies', [bodySection, bodySection], 40430],
    ['no body', [sequence('documents')], 40587],
    ['the same sequence twice', [bodySection, sequence('documents'), sequence('documents')], 40431],
    ['a body that is cut off', [bodySection.subarray(0, -1)], 22],
    ['a sequence that reaches too far', [bodySection, sequence('documents').subarray(0, -1)], 15],
  ])('answers %s with an error', (_name, sections, code) => {
    expect(() => readMessage(frameOf(0, ...sections))).toThrow(expect.objectContaining({ code }));
  });

  it('refuses flags that it must understand and does not', () => {
    expect(() => readMessage(frameOf(1 << 5, bodySection))).toThrow(ProtocolError);
    expect(readMessage(frameOf(1 << 20, bodySection)).body.equals(body)).toBe(true);
  });

  it('is the same after packing and unpacking', () => {
    const frame = Buffer.concat([messagePrefix(body.length, 7, 3, 0), body]);
    expect(unpackFrame(packFrame(frame))).toEqual({ frame, compressed: true });
    expect(unpackFrame(frame).frame).toBe(frame);
  });

  it('refuses compressors that the server does not have, and other lengths than announced', () => {
    const packed = packFrame(Buffer.concat([messagePrefix(body.length, 7, 3, 0), body]));
    const unknown = Buffer.from(packed);
    unknown.writeUInt8(3, headerBytes + 8);
    expect(() => unpackFrame(unknown)).toThrow(ProtocolError);
    for (const length of [-1, 1, 10_000, 2 ** 31 - 1]) {
      const changed = Buffer.from(packed);
      changed.writeInt32LE(length, headerBytes + 4);
      expect(() => unpackFrame(changed)).toThrow(ProtocolError);
    }
  });
});

describe('commands', () => {
  it('take the statements of a bulk write out of the body', () => {
    const list = [...documents].map((bytes) => decodeDocument(bytes));
    const bytes = encodeDocument(doc(['insert', 'c'], ['documents', list], ['ordered', false], ['$db', 'test']));
    const { body, sequences } = readCommandBody(bytes);
    expect([...body]).toEqual([
      ['insert', 'c'],
      ['ordered', false],
      ['$db', 'test'],
    ]);
    expect(sequences.get('documents')?.map((each) => Buffer.from(each))).toEqual(documents);
  });

  it('leave lists alone that hold something else than documents', () => {
    const { body, sequences } = readCommandBody(encodeDocument(doc(['insert', 'c'], ['documents', [new Int32(1)]])));
    expect(sequences.size).toBe(0);
    expect(body.get('documents')).toEqual([new Int32(1)]);
  });

  it('are read from OP_QUERY on $cmd only', () => {
    const query = (name: string): Buffer =>
      Buffer.concat([
        Buffer.alloc(headerBytes + 4),
        Buffer.from(`${name}\0`),
        Buffer.alloc(8),
        encodeDocument(doc(['isMaster', new Int32(1)])),
      ]);
    expect(readLegacyQuery(query('admin.$cmd')).db).toBe('admin');
    expect(readLegacyQuery(query('admin.things')).db).toBeUndefined();
    expect(() => readLegacyQuery(query('admin.$cmd').subarray(0, 30))).toThrow(ProtocolError);
  });

  it('need a database, and no field twice', () => {
    const parse = (...fields: [string, Value][]): unknown =>
      parseCommand(encodeDocument(doc(...fields)), new Map([['documents', []]]));
    expect(() => parse(['insert', 'c'])).toThrow(expect.objectContaining({ code: 40571 }));
    expect(() => parse(['insert', 'c'], ['$db', 'a.b'])).toThrow(expect.objectContaining({ code: 73 }));
    expect(() => parse(['insert', 'c'], ['documents', []], ['$db', 'a'])).toThrow(
      expect.objectContaining({ code: 40433 }),
    );
    expect(parse(['insert', 'c'], ['$db', 'a'])).toMatchObject({ name: 'insert', db: 'a' });
  });
});
