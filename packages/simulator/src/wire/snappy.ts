/**
 * Snappy's raw format (google/snappy, format_description.txt): the length of the content as a varint, then literals and
 * copies of earlier content.
 */

/** Content is compressed in blocks of this size, so that offsets of copies fit in two bytes. */
const blockBytes = 65_536;
const hashBits = 14;
/** The last bytes of a block are never searched, so that four bytes can always be read. */
const tailBytes = 4;
const copyBytesMax = 64;
const copyBytesMin = 4;

export class SnappyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SnappyError';
  }
}

/** Compresses into the raw format. */
export function snappyCompress(content: Buffer): Buffer {
  const packed = Buffer.allocUnsafe(32 + content.length + Math.ceil(content.length / 6));
  let at = writeVarint(packed, content.length);
  for (let from = 0; from < content.length; from += blockBytes) {
    at = compressBlock(content, from, Math.min(content.length, from + blockBytes), packed, at);
  }
  return packed.subarray(0, at);
}

function compressBlock(content: Buffer, from: number, to: number, packed: Buffer, start: number): number {
  const seen = new Int32Array(1 << hashBits).fill(-1);
  let at = start;
  let literal = from;
  let position = from;
  while (position + tailBytes <= to) {
    const word = content.readUInt32LE(position);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - hashBits);
    const candidate = seen[slot] ?? -1;
    seen[slot] = position;
    if (candidate < 0 || content.readUInt32LE(candidate) !== word) {
      position += 1;
      continue;
    }
    let length = tailBytes;
    while (position + length < to && content[candidate + length] === content[position + length]) length += 1;
    at = writeLiteral(content, literal, position, packed, at);
    at = writeCopies(packed, at, position - candidate, length);
    position += length;
    literal = position;
  }
  return writeLiteral(content, literal, to, packed, at);
}

function writeLiteral(content: Buffer, from: number, to: number, packed: Buffer, start: number): number {
  const length = to - from;
  if (length === 0) return start;
  let at = start;
  if (length <= 60) packed[at++] = (length - 1) << 2;
  else if (length <= 256) {
    packed[at++] = 60 << 2;
    packed[at++] = length - 1;
  } else {
    packed[at++] = 61 << 2;
    at = packed.writeUInt16LE(length - 1, at);
  }
  return at + content.copy(packed, at, from, to);
}

function writeCopies(packed: Buffer, start: number, offset: number, length: number): number {
  let at = start;
  let left = length;
  while (left > 0) {
    // A rest shorter than the shortest copy would have to be a literal.
    const piece =
      left > copyBytesMax && left < copyBytesMax + copyBytesMin
        ? copyBytesMax - copyBytesMin
        : Math.min(left, copyBytesMax);
    packed[at++] = ((piece - 1) << 2) | 2;
    at = packed.writeUInt16LE(offset, at);
    left -= piece;
  }
  return at;
}

function writeVarint(packed: Buffer, value: number): number {
  let at = 0;
  let left = value;
  while (left >= 0x80) {
    packed[at++] = (left & 0x7f) | 0x80;
    left >>>= 7;
  }
  packed[at++] = left;
  return at;
}

/**
 * Unpacks the raw format.
 * @param bytesMax longer content is refused before memory is allocated for it
 * @throws SnappyError for malformed bytes
 */
export function snappyUncompress(packed: Buffer, bytesMax: number): Buffer {
  const { value: length, end } = readVarint(packed);
  if (length > bytesMax) throw new SnappyError(`content of ${length} bytes`);
  const content = Buffer.allocUnsafe(length);
  let from = end;
  let filled = 0;
  while (from < packed.length) {
    const tag = packed[from] ?? 0;
    const element = (tag & 3) === 0 ? readLiteral(packed, from, tag) : readCopy(packed, from, tag);
    if (filled + element.length > length) throw new SnappyError('more content than announced');
    if (element.offset === undefined) packed.copy(content, filled, element.next - element.length, element.next);
    else repeat(content, filled, element.offset, element.length);
    filled += element.length;
    from = element.next;
  }
  if (filled !== length) throw new SnappyError('less content than announced');
  return content;
}

interface Element {
  readonly length: number;
  /** Index behind the element. */
  readonly next: number;
  /** Distance of a copy's source. Undefined for literals. */
  readonly offset?: number;
}

function readLiteral(packed: Buffer, at: number, tag: number): Element {
  const short = tag >>> 2;
  const lengthBytes = short < 60 ? 0 : short - 59;
  if (at + 1 + lengthBytes > packed.length) throw new SnappyError('literal is cut off');
  const length = (lengthBytes === 0 ? short : packed.readUIntLE(at + 1, lengthBytes)) + 1;
  const next = at + 1 + lengthBytes + length;
  if (next > packed.length) throw new SnappyError('literal is cut off');
  return { length, next };
}

function readCopy(packed: Buffer, at: number, tag: number): Element {
  const offsetBytes = [1, 2, 4][(tag & 3) - 1] ?? 1;
  const next = at + 1 + offsetBytes;
  if (next > packed.length) throw new SnappyError('copy is cut off');
  if (offsetBytes === 1)
    return { length: ((tag >>> 2) & 7) + copyBytesMin, offset: ((tag >>> 5) << 8) | (packed[at + 1] ?? 0), next };
  return { length: (tag >>> 2) + 1, offset: packed.readUIntLE(at + 1, offsetBytes), next };
}

/** Copies from earlier content. The copy may overlap itself. */
function repeat(content: Buffer, filled: number, offset: number, length: number): void {
  if (offset === 0 || offset > filled) throw new SnappyError('copy begins before the content');
  for (let index = filled; index < filled + length; index += 1) content[index] = content[index - offset] ?? 0;
}

function readVarint(packed: Buffer): { value: number; end: number } {
  let value = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = packed[at];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return { value, end: at + 1 };
  }
  throw new SnappyError('length is not terminated');
}
