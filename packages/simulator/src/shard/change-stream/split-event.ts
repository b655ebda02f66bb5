import { Int32 } from 'bson';
import { compareStrings } from '../../bson/compare.js';
import { encodeDocument, encodeElement } from '../../bson/encode.js';
import { encodeResumeToken, resumeTokenDocument, type ResumeToken } from '../../bson/resume-token.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';

/** An event up to this size is not split: 16 MB, as the server's `kBSONObjMaxChangeEventSize`. */
export const EVENT_BYTES_MAX = 16 * 1024 * 1024;

/** One part of a split event. */
export interface EventFragment {
  readonly token: string;
  readonly tokenDocument: Doc;
  readonly doc: Doc;
}

interface SizedField {
  readonly name: string;
  readonly value: Value;
  readonly bytes: number;
}

/**
 * Splits an event into parts below 16 MB: its fields, the smallest first, fill as few parts as possible. Every part has
 * a token of its own, its number and the number of parts.
 * @throws CommandError 7182500 when a single field is too large, 7182502 when there is nothing to split
 */
export function splitEvent(
  event: Doc,
  token: ResumeToken,
  tokenDocument: Doc,
  bytesMax: number = EVENT_BYTES_MAX,
): EventFragment[] {
  const fields = sortedFields(event);
  if (fields.length === 0)
    throw new CommandError(
      7182502,
      'Location7182502',
      "Cannot split an empty event or an event containing solely '_id' field",
    );
  const fragmentBytesMax = bytesMax - encodeDocument(tokenDocument).length;
  const groups = groupsOf(fields, fragmentBytesMax, token);
  return groups.map((group, index) => fragment(group, { ...token, fragmentNum: index }, index + 1, groups.length));
}

function sortedFields(event: Doc): SizedField[] {
  const fields: SizedField[] = [];
  for (const [name, value] of event) {
    if (name !== '_id') fields.push({ name, value, bytes: encodeElement(name, value).length });
  }
  return fields.sort((a, b) => a.bytes - b.bytes || compareStrings(a.name, b.name));
}

function groupsOf(fields: readonly SizedField[], fragmentBytesMax: number, token: ResumeToken): SizedField[][] {
  const groups: SizedField[][] = [];
  let bytes = Infinity;
  for (const field of fields) {
    const group = groups.at(-1);
    if (group === undefined || bytes + field.bytes > fragmentBytesMax) {
      bytes =
        encodeDocument(fragment([], { ...token, fragmentNum: groups.length }, groups.length + 1, 0).doc).length +
        field.bytes;
      groups.push([field]);
      if (bytes > fragmentBytesMax) throw tooLarge(bytes, fragmentBytesMax);
    } else {
      bytes += field.bytes;
      group.push(field);
    }
  }
  return groups;
}

function tooLarge(bytes: number, bytesMax: number): CommandError {
  const message =
    `Splitting change event failed: fragment size ${bytes} is greater than maximum allowed fragment size ` +
    `${bytesMax}`;
  return new CommandError(7182500, 'Location7182500', message);
}

function fragment(fields: readonly SizedField[], token: ResumeToken, number: number, of: number): EventFragment {
  const tokenDocument = resumeTokenDocument(token);
  const doc: Doc = new Map<string, Value>([
    ['_id', tokenDocument],
    [
      'splitEvent',
      new Map([
        ['fragment', new Int32(number)],
        ['of', new Int32(of)],
      ]),
    ],
  ]);
  for (const { name, value } of fields) doc.set(name, value);
  return { token: encodeResumeToken(token), tokenDocument, doc };
}
