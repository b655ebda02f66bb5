import { isUtf8 } from 'node:buffer';

/** A byte outside of any UTF-8 sequence is this plus the byte in a text: a surrogate without its other half. */
const LONE_SURROGATES = 0xdc00;
const loneSurrogates = /[\udc80-\udcff]/u;
/** What Node.js decodes such bytes to. */
const REPLACEMENT = '\ufffd';
/** Longest sequence of one character. */
const SEQUENCE_BYTES_MAX = 4;

/**
 * The text of the bytes from `from` to before `to`. Servers store bytes that are not UTF-8 unchanged. Each has a
 * surrogate of its own, so different bytes are different texts and `encodeUtf8` returns the same bytes (as Python's
 * `surrogateescape`, PEP 383).
 */
export function decodeUtf8(buffer: Buffer, from: number, to: number): string {
  const text = buffer.toString('utf8', from, to);
  return text.includes(REPLACEMENT) ? decodeBytes(buffer.subarray(from, to)) : text;
}

/** The bytes of a text. */
export function encodeUtf8(text: string): Buffer {
  if (!loneSurrogates.test(text)) return Buffer.from(text);
  return Buffer.concat(
    Array.from(text, (character) =>
      loneSurrogates.test(character) ? Buffer.of(character.charCodeAt(0) - LONE_SURROGATES) : Buffer.from(character),
    ),
  );
}

/**
 * Writes the bytes of a text.
 * @param buffer has room for three bytes per unit of the text
 * @returns how many they are
 */
export function writeUtf8(buffer: Buffer, text: string, at: number): number {
  if (!loneSurrogates.test(text)) return buffer.write(text, at, 'utf8');
  const bytes = encodeUtf8(text);
  buffer.set(bytes, at);
  return bytes.length;
}

function decodeBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    text +=
      length === 0 ? String.fromCharCode(LONE_SURROGATES + (bytes[at] ?? 0)) : bytes.toString('utf8', at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** Bytes of the character at an index. 0 when no character starts there. */
function sequenceLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= SEQUENCE_BYTES_MAX; length += 1)
    if (at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) return length;
  return 0;
}
