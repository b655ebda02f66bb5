import { Int32, Long, MaxKey, MinKey } from 'bson';
import { compareValues } from '../bson/compare.js';
import { encodeDocument } from '../bson/encode.js';
import { hashShardKeyValue } from '../bson/hash.js';
import { scanPath } from '../bson/scan.js';
import type { Doc, Value } from '../bson/value.js';
import type { ServerVersion } from '../node/server-version.js';
import { CommandError } from '../node/command.js';
import { numberOf } from '../node/doc-fields.js';
import { documentText } from '../bson/text.js';

/** A shard-key value: one value per field of the pattern, hashed fields already hashed. */
export type KeyValues = readonly Value[];

/** The pattern of a shard key, e.g. `{tenant: 1, _id: "hashed"}`. */
export class ShardKeyPattern {
  readonly fields: readonly string[];
  readonly hashedIndex: number;

  private constructor(readonly doc: Doc) {
    this.fields = [...doc.keys()];
    this.hashedIndex = [...doc.values()].indexOf('hashed');
  }

  /** @throws CommandError 2 when a field is neither 1 nor `hashed`, or more than one is hashed */
  static parse(doc: Doc, version?: ServerVersion): ShardKeyPattern {
    let hashed = 0;
    if (doc.size === 0) throw new CommandError(2, 'BadValue', 'Shard key is empty');
    for (const [field, value] of doc) {
      if (value === 'hashed') hashed += 1;
      if (hashed > 1 || (value !== 'hashed' && numberOf(value) !== 1)) {
        const rule =
          version?.atLeast(8, 0) === true && hashed <= 1
            ? 'numerical fields must be set to a value of 1 (ascending).'
            : ` can contain at most one 'hashed' field, and/or multiple numerical fields set to a value of 1.`;
        throw new CommandError(2, 'BadValue', `Shard key ${documentText(doc)}${rule} Failed to parse field ${field}`);
      }
    }
    return new ShardKeyPattern(doc);
  }

  get hashedFirst(): boolean {
    return this.hashedIndex === 0;
  }

  /**
   * The key of a document. A missing field counts as null.
   * @throws CommandError 61 when a field of the key is an array
   */
  keyOf(document: Uint8Array): Value[] {
    return this.fields.map((field, index) => this.#part(index, scanPath(document, field) ?? null));
  }

  /** The key from values by field; undefined when one is missing. */
  keyFrom(values: ReadonlyMap<string, Value>): Value[] | undefined {
    const key: Value[] = [];
    for (const [index, field] of this.fields.entries()) {
      const value = values.get(field);
      if (value === undefined) return undefined;
      key.push(this.#part(index, value));
    }
    return key;
  }

  #part(index: number, value: Value): Value {
    if (Array.isArray(value)) {
      throw new CommandError(61, 'ShardKeyNotFound', 'Shard key cannot contain array values or array descendants.');
    }
    return index === this.hashedIndex ? hashShardKeyValue(value) : value;
  }

  /** A bound as the config database shows it. */
  boundDocument(key: KeyValues): Doc {
    return new Map(this.fields.map((field, index) => [field, valueAt(key, index)]));
  }

  /** The bound that a document in a command describes. Further fields are MinKey, or MaxKey for an upper end. */
  boundFrom(bound: Doc): Value[] {
    const given = this.fields.map((field) => bound.get(field));
    const upper = given.some((value) => value instanceof MaxKey);
    return given.map((value) => (value === undefined ? (upper ? new MaxKey() : new MinKey()) : value));
  }

  get globalMin(): Value[] {
    return this.fields.map(() => new MinKey());
  }

  get globalMax(): Value[] {
    return this.fields.map(() => new MaxKey());
  }

  equals(other: ShardKeyPattern): boolean {
    return encodeDocument(normalized(this.doc)).equals(encodeDocument(normalized(other.doc)));
  }

  /** True when this index can serve as the shard key's index: it begins with the key's fields. */
  isPrefixOf(index: Doc): boolean {
    const parts = [...index].slice(0, this.fields.length);
    return (
      parts.length === this.fields.length &&
      parts.every(
        ([field, value], at) => field === this.fields[at] && (at === this.hashedIndex) === (value === 'hashed'),
      )
    );
  }
}

/** Null is a value, unlike a missing one. */
function valueAt(key: KeyValues, index: number): Value {
  const value = key[index];
  return value === undefined ? new MinKey() : value;
}

function normalized(pattern: Doc): Doc {
  return new Map([...pattern].map(([field, value]) => [field, value === 'hashed' ? value : new Int32(1)]));
}

/** True for what may bound a range under a hashed field: a hash, which is a long, or an end. */
export function isHashBound(value: Value): boolean {
  return value instanceof Long || value instanceof MinKey || value instanceof MaxKey;
}

/** Order of shard-key values: field by field in BSON order, without collation. */
export function compareKeys(a: KeyValues, b: KeyValues): number {
  for (let index = 0; index < a.length && index < b.length; index += 1) {
    const order = compareValues(a[index] ?? null, b[index] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
