import { isUtf8 } from 'node:buffer';

/** A byte outside any UTF-8 sequence is decoded to this plus the byte: a lone surrogate. */
const loneSurrogates = 0xdc00;
const loneSurrogate = /[\udc80-\udcff]/u;
/** What Node.js decodes such bytes to. */
const replacement = '\ufffd';
/** Longest sequence of one character. */
const sequenceBytesMax = 4;

/**
 * Decodes the bytes from `start` (inclusive) to `end` (exclusive). Servers accept any bytes in a name or a string. Each
 * byte that is not UTF-8 becomes its own surrogate, so that different bytes give different texts, and `encodeUtf8`
 * returns the same bytes (as Python's `surrogateescape`, PEP 383). The driver cannot encode such a text: it must not
 * become part of a command.
 */
export function decodeUtf8(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes(replacement) ? decodeBytes(bytes.subarray(start, end)) : text;
}

/** Whether the bytes of a text are UTF-8. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

/** The bytes of a text. */
export function encodeUtf8(text: string): Buffer {
  if (isWellFormed(text)) return Buffer.from(text);
  return Buffer.concat(
    Array.from(text, (character) =>
      isWellFormed(character) ? Buffer.from(character) : Buffer.of(character.charCodeAt(0) - loneSurrogates),
    ),
  );
}

function decodeBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    text +=
      length === 0 ? String.fromCharCode(loneSurrogates + (bytes[at] ?? 0)) : bytes.toString('utf8', at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** Bytes of the character at an index; 0 if no character starts there. */
function sequenceLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= sequenceBytesMax; length += 1) {
    if (at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) return length;
  }
  return 0;
}
