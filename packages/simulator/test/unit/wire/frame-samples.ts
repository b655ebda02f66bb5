import { Binary, Double, Int32, Long } from 'bson';
import fc from 'fast-check';
import { encodeDocument } from '../../../src/bson/encode.js';
import type { Value } from '../../../src/bson/value.js';
import { doc } from '../../../src/node/doc-fields.js';
import { packFrame } from '../../../src/wire/compression.js';
import { messagePrefix } from '../../../src/wire/op-msg.js';
import { headerBytes, messageFlag, opCode } from '../../../src/wire/protocol.js';

/** An OP_MSG with one body, as a client sends it. */
export function messageFrame(fields: [string, Value][], flags = 0, requestId = 1): Buffer {
  const body = encodeDocument(doc(...fields));
  return Buffer.concat([messagePrefix(body.length, requestId, 0, flags), body]);
}

/** An OP_MSG whose statements are a document sequence. */
function sequenceFrame(fields: [string, Value][], name: string, documents: readonly Buffer[]): Buffer {
  const content = Buffer.concat([Buffer.from(`${name}\0`), ...documents]);
  const section = Buffer.alloc(5);
  section.writeUInt8(1, 0);
  section.writeInt32LE(4 + content.length, 1);
  const frame = Buffer.concat([messageFrame(fields), section, content]);
  frame.writeInt32LE(frame.length, 0);
  return frame;
}

/** An OP_QUERY on `admin.$cmd`. */
export function queryFrame(fields: [string, Value][]): Buffer {
  const head = Buffer.alloc(headerBytes + 4);
  head.writeInt32LE(opCode.query, 12);
  const frame = Buffer.concat([
    head,
    Buffer.from('admin.$cmd\0'),
    Buffer.alloc(4),
    Buffer.from([0xff, 0xff, 0xff, 0xff]),
    encodeDocument(doc(...fields)),
  ]);
  frame.writeInt32LE(frame.length, 0);
  return frame;
}

const database: [string, Value] = ['$db', 'test'];
const nested = doc(
  ['a', [new Int32(1), doc(['b', new Binary(Buffer.from('x'), 0)])]],
  ['c', new Double(1.5)],
  ['d', Long.fromInt(7)],
);

/** Sound messages of many kinds. */
export const soundFrames: readonly Buffer[] = [
  messageFrame([['ping', new Int32(1)], database]),
  messageFrame([['ping', new Int32(1)], database], messageFlag.checksumPresent),
  messageFrame([['hello', new Int32(1)], ['client', nested], database], messageFlag.exhaustAllowed),
  messageFrame([['find', 'c'], ['filter', nested], ['sort', doc(['a', new Int32(1)])], database]),
  messageFrame([['aggregate', 'c'], ['pipeline', [doc(['$match', nested])]], ['cursor', new Map()], database]),
  messageFrame([['insert', 'c'], ['documents', [nested, nested]], database]),
  messageFrame([['insert', 'c'], ['documents', [nested]], database], messageFlag.moreToCome),
  messageFrame([
    ['update', 'c'],
    ['updates', [doc(['q', nested], ['u', doc(['$set', nested])], ['upsert', true])]],
    database,
  ]),
  sequenceFrame([['insert', 'c'], database], 'documents', [encodeDocument(nested), encodeDocument(doc(['e', null]))]),
  sequenceFrame([['delete', 'c'], database], 'deletes', [encodeDocument(doc(['q', nested], ['limit', new Int32(1)]))]),
  queryFrame([['isMaster', new Int32(1)]]),
  queryFrame([
    ['$query', doc(['isMaster', new Int32(1)])],
    ['$readPreference', doc(['mode', 'nearest'])],
  ]),
  packFrame(messageFrame([['find', 'c'], ['filter', nested], database])),
];

type Damage = (frame: Buffer) => Buffer;

const place = fc.nat();
const byte = fc.integer({ min: 0, max: 255 });

/** Damage behind the header, so that the message is still cut out rightly. */
const inside: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(place, byte).map(
    ([at, value]): Damage =>
      (frame) =>
        withByte(frame, behindHeader(frame, at), value),
  ),
  fc.tuple(place, fc.integer()).map(
    ([at, value]): Damage =>
      (frame) =>
        withInt(frame, behindHeader(frame, at), value),
  ),
  fc.tuple(place, fc.uint8Array({ minLength: 1, maxLength: 40 })).map(([at, bytes]): Damage => (frame) => {
    const split = behindHeader(frame, at);
    return withTrueLength(Buffer.concat([frame.subarray(0, split), bytes, frame.subarray(split)]));
  }),
  place.map(
    (at): Damage =>
      (frame) =>
        withTrueLength(frame.subarray(0, behindHeader(frame, at))),
  ),
);

/** Damage to the header, or to the end. */
const outside: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(place, byte).map(
    ([at, value]): Damage =>
      (frame) =>
        withByte(frame, at % headerBytes, value),
  ),
  place.map(
    (at): Damage =>
      (frame) =>
        frame.subarray(0, at % frame.length),
  ),
  fc.integer().map(
    (length): Damage =>
      (frame) =>
        withInt(frame, 0, length),
  ),
  fc.integer().map(
    (code): Damage =>
      (frame) =>
        withInt(frame, 12, code),
  ),
);

const damage = fc.oneof({ weight: 8, arbitrary: inside }, { weight: 1, arbitrary: outside });

function behindHeader(frame: Buffer, at: number): number {
  return Math.min(frame.length, headerBytes + (at % Math.max(1, frame.length - headerBytes)));
}

function withByte(frame: Buffer, at: number, byte: number): Buffer {
  const changed = Buffer.from(frame);
  if (at < changed.length) changed[at] = byte;
  return changed;
}

function withInt(frame: Buffer, at: number, value: number): Buffer {
  const changed = Buffer.from(frame);
  if (at + 4 <= changed.length) changed.writeInt32LE(value, at);
  return changed;
}

function withTrueLength(frame: Buffer): Buffer {
  return withInt(frame, 0, frame.length);
}

const noise = fc
  .tuple(
    fc.uint8Array({ maxLength: 120 }),
    fc.constantFrom(opCode.message, opCode.query, opCode.compressed, opCode.reply, 2002, 2004, 2006, 0),
  )
  .map(([bytes, code]) => {
    const frame = Buffer.concat([Buffer.alloc(headerBytes), bytes]);
    frame.writeInt32LE(code, 12);
    return withTrueLength(frame);
  });

/** Sound messages damaged once or several times, and messages of noise. */
export const brokenFrame: fc.Arbitrary<Buffer> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.constantFrom(...soundFrames), fc.array(damage, { minLength: 1, maxLength: 3 }))
      .map(([frame, steps]) => steps.reduce((changed, step) => step(changed), frame)),
  },
  { weight: 1, arbitrary: noise },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
);
