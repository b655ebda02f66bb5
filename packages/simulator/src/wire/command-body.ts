import { decodeDocument } from '../bson/decode.js';
import { asBuffer, ElementType } from '../bson/element-type.js';
import { type ElementLocation, elementName, scanElements } from '../bson/scan.js';
import type { Doc } from '../bson/value.js';

/** Fields whose documents are only passed on, so that they may stay bytes. */
const bulkFields: ReadonlyMap<string, string> = new Map([
  ['insert', 'documents'],
  ['update', 'updates'],
  ['delete', 'deletes'],
]);

export interface CommandBody {
  readonly body: Doc;
  /** The documents of a bulk write that were an array in the body. */
  readonly sequences: ReadonlyMap<string, Uint8Array[]>;
  /** The place of that array. */
  readonly listed?: { readonly field: string; readonly index: number };
}

/**
 * Decodes a command. The statements of an insert, update or delete leave the body as bytes. Both ways to send them
 * (array and document sequence) then look alike, and nothing large is decoded.
 * @throws CommandError 22 (InvalidBSON)
 */
export function readCommandBody(bytes: Uint8Array): CommandBody {
  const bulkField = bulkFields.get(firstName(bytes));
  if (bulkField === undefined) return { body: decodeDocument(bytes), sequences: new Map() };
  let index = -1;
  for (const element of scanElements(bytes)) {
    index += 1;
    if (element.type !== ElementType.array || elementName(bytes, element) !== bulkField) continue;
    const documents = documentsOf(bytes, element.valueStart);
    if (documents === undefined) break;
    return {
      body: decodeDocument(without(bytes, element)),
      sequences: new Map([[bulkField, documents]]),
      listed: { field: bulkField, index },
    };
  }
  return { body: decodeDocument(bytes), sequences: new Map() };
}

function firstName(bytes: Uint8Array): string {
  return bytes.length > 5 ? asBuffer(bytes).toString('latin1', 5, bytes.indexOf(0, 5)) : '';
}

/**
 * The elements of an array as documents. Undefined when one is something else, which the command itself then refuses.
 */
function documentsOf(bytes: Uint8Array, arrayStart: number): Uint8Array[] | undefined {
  const documents: Uint8Array[] = [];
  for (const element of scanElements(bytes, arrayStart)) {
    if (element.type !== ElementType.document) return undefined;
    documents.push(bytes.subarray(element.valueStart, element.end));
  }
  return documents;
}

function without(bytes: Uint8Array, element: ElementLocation): Buffer {
  const rest = Buffer.concat([bytes.subarray(0, element.start), bytes.subarray(element.end)]);
  rest.writeInt32LE(rest.length, 0);
  return rest;
}
