import type { Doc, Value } from '../bson/value.js';

/** Names of documents from which fields were removed, in their order, including the removed ones. */
const placesKept = new WeakMap<Doc, readonly string[]>();

/**
 * A document while stages and expressions change it. A removed field keeps its place, in this document and in those
 * derived from it, until it is stored or sent: set again, it stands there. Only encoding drops the place (server,
 * `exec/document_value/document.h`).
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

  /** @param value undefined removes the field; one that did not exist then has a place all the same */
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
