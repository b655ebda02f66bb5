import { DocumentBuilder } from '../bson/build.js';
import { elementsOf, findElement, rawValue, readDocument, readNumber } from '../bson/scan.js';

/** What says that a document is one part of an event, and which. */
const splitField = 'splitEvent';
const tokenField = '_id';

/**
 * Puts events together that were too large for one reply: the fields of an event lie in several documents, one after the other
 * (`$changeStreamSplitLargeEvent`), which may come in several batches.
 */
export class EventFragments {
  #parts: Uint8Array[] = [];

  /** The events of a batch, those put together included; what is not complete waits for the next one. */
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
    if (fragment !== this.#parts.length + 1)
      throw new RangeError('The parts of a large change event came in another order');
    // A view would keep the whole reply.
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
    throw new RangeError('A part of a change event does not say which it is');
  return { fragment: readNumber(split, fragment), of: readNumber(split, of) };
}

/** One event with the token of the first part: its time and collection are those of all. */
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
