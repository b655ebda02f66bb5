import { DocumentBuilder } from '../bson/build.js';
import { elementsOf, findElement, rawValue, readDocument, readNumber } from '../bson/scan.js';

/** The field that marks a document as one part of an event. */
const splitField = 'splitEvent';
const tokenField = '_id';

/**
 * Assembles events that `$changeStreamSplitLargeEvent` has split: the fields of such an event are in several
 * consecutive documents, which may come in several batches.
 */
export class EventFragments {
  #parts: Uint8Array[] = [];

  /** The events of a batch, assembled ones included. An incomplete event waits for the next batch. */
  assembled(documents: readonly Uint8Array[]): readonly Uint8Array[] {
    const isWhole =
      this.#parts.length === 0 && documents.every((document) => findElement(document, splitField) === null);
    if (isWhole) return documents;
    return documents.flatMap((document) => this.#taken(document) ?? []);
  }

  #taken(document: Uint8Array): Uint8Array | null {
    const split = findElement(document, splitField);
    if (split === null) return document;
    const { fragment, of } = placeOf(readDocument(document, split));
    if (fragment !== this.#parts.length + 1) throw new RangeError('The parts of a large change event are out of order');
    // A view would keep the whole reply in memory.
    this.#parts.push(Buffer.from(document));
    if (fragment < of) return null;
    const whole = joined(this.#parts);
    this.#parts = [];
    return whole;
  }
}

function placeOf(split: Uint8Array): { fragment: number; of: number } {
  const [fragment, of] = ['fragment', 'of'].map((name) => findElement(split, name));
  if (fragment === null || fragment === undefined || of === null || of === undefined)
    throw new RangeError('A part of a change event lacks its number');
  return { fragment: readNumber(split, fragment), of: readNumber(split, of) };
}

/** One event with the token of the first part: all parts have the same time and collection. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const builder = new DocumentBuilder(parts.reduce((bytes, part) => bytes + part.length, 0));
  for (const [index, part] of parts.entries()) {
    for (const element of elementsOf(part)) {
      if (element.name !== splitField && (index === 0 || element.name !== tokenField))
        builder.raw(element.name, rawValue(part, element));
    }
  }
  return builder.finish();
}
