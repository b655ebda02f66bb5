import type { Doc, Value } from '../bson/value.js';

/** Names of documents out of which fields were taken, in their order, with those that were taken out. */
const placesKept = new WeakMap<Doc, readonly string[]>();

/**
 * A document while stages and expressions change it. A field that is taken out keeps its place, in this document and in those
 * made of it, until it is stored or sent: set again, it stands there. Only bytes forget it (server, `exec/document_value/document.h`).
 */
export class MutableDocument {
  readonly #fields: Map<string, Value | undefined>;
  #hasGaps = false;

  constructor(base?: Doc) {
    const names = base === undefined ? undefined : placesKept.get(base);
    this.#hasGaps = names !== undefined;
    this.#fields = names === undefined ? new Map(base) : new Map(names.map((name) => [name, base?.get(name)]));
  }

  get(name: string): Value | undefined {
    return this.#fields.get(name);
  }

  /** @param value undefined takes the field out; one that was not there then has its place all the same */
  set(name: string, value: Value | undefined): void {
    if (value === undefined) this.#hasGaps = true;
    this.#fields.set(name, value);
  }

  /** The document as it is now. */
  frozen(): Doc {
    if (!this.#hasGaps) return this.#fields as Doc;
    const doc: Doc = new Map();
    for (const [name, value] of this.#fields) if (value !== undefined) doc.set(name, value);
    placesKept.set(doc, [...this.#fields.keys()]);
    return doc;
  }
}
