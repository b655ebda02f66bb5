import type { Doc, Value } from '../bson/value.js';

/** Names of documents from which fields were removed, in their order, including the removed ones. */
const placesKept = new WeakMap<Doc, readonly string[]>();

/** Documents that stages or expressions have made, unlike those as they are stored. */
const changed = new WeakSet<Doc>();

/** True for a document as it is stored, which nothing has changed. */
export function isAsStored(doc: Doc): boolean {
  return !changed.has(doc);
}

/** Drops the places of removed fields, as encoding does. */
export function withoutPlaces(doc: Doc): Doc {
  placesKept.delete(doc);
  changed.delete(doc);
  for (const value of doc.values()) forgetPlaces(value);
  return doc;
}

function forgetPlaces(value: Value): void {
  if (value instanceof Map) withoutPlaces(value);
  else if (Array.isArray(value)) for (const item of value) forgetPlaces(item);
}

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
    if (!this.#hasGaps) {
      changed.add(this.#fields as Doc);
      return this.#fields as Doc;
    }
    const doc: Doc = new Map();
    for (const [name, value] of this.#fields) if (value !== undefined) doc.set(name, value);
    changed.add(doc);
    placesKept.set(doc, [...this.#fields.keys()]);
    return doc;
  }
}
