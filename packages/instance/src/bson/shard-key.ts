import { DocumentBuilder } from './build.js';
import { compareRaw, integerForHash } from './order.js';
import { isCondition, isConditionAt, isKeyBound } from './sent-value.js';
import { elementType } from './element-type.js';
import { hashElement, hashValue, type Halves } from './hash.js';
import { findElement, findPath, nullValue, type RawElement, RawValue, rawValue, findValue } from './scan.js';

/** One field of a shard key; `field` may be a dotted path. */
export interface ShardKeyField {
  field: string;
  hashed: boolean;
}

/**
 * Where shard-key values are read from. In a `document`, a dotted field is a path; in a change event's `documentKey` it
 * is a field whose name contains the dots.
 */
export type KeySource = 'document' | 'documentKey';

/** The fields of a shard key as catalogs show it: 1 or "hashed" by field, in order. */
export function shardKeyFields(key: ReadonlyMap<string, unknown>): ShardKeyField[] {
  return [...key].map(([field, kind]) => ({ field, hashed: kind === 'hashed' }));
}

function plainElement(bytes: Uint8Array, field: string, source: KeySource): RawElement | null {
  const dotted = field.includes('.');
  const flat = !dotted || source === 'documentKey' ? findElement(bytes, field) : null;
  return flat ?? (dotted ? findPath(bytes, field.split('.')) : null);
}

function plainValue(bytes: Uint8Array, field: string, source: KeySource): RawValue {
  const element = plainElement(bytes, field, source);
  return element === null ? nullValue : rawValue(bytes, element);
}

function hashedValue(value: RawValue): RawValue {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64LE(hashValue(value), 0);
  return new RawValue(elementType.long, bytes);
}

/**
 * The shard key of a document as chunk bounds compare it: a missing field counts as null, a hashed field as its hash.
 * @param document BSON of a document or, if `source` says so, of a change event's document key
 */
export function shardKeyOf(
  document: Uint8Array,
  key: readonly ShardKeyField[],
  source: KeySource = 'document',
): RawValue[] {
  return key.map(({ field, hashed }) => {
    const value = plainValue(document, field, source);
    return hashed ? hashedValue(value) : value;
  });
}

/** A bound of a shard key's ranges: values for its first fields, `rest` for the others. */
export function keyBound(key: ReadonlyMap<string, unknown>, values: readonly RawValue[], rest: RawValue): Buffer {
  const builder = new DocumentBuilder();
  [...key.keys()].forEach((field, position) => builder.raw(field, values[position] ?? rest));
  return builder.finish();
}

/** Stands in for a missing field. */
const nullElement: RawElement = { type: elementType.null, start: 0, end: 0 };

/** The hash of a document's one hashed shard-key field. */
function hashOfField(document: Uint8Array, { field }: ShardKeyField, source: KeySource, result: Halves): void {
  hashElement(document, plainElement(document, field, source) ?? nullElement, result);
}

/**
 * Whether a shard-key field is `_id` or inside of it, so that the value of `_id` states it. A router refuses a filter
 * that names both (61).
 */
export function isOfId(field: string): boolean {
  return field === '_id' || field.startsWith('_id.');
}

/**
 * The filter that identifies exactly one document to a router: the shard key's plain values, then `_id`. Null matches a
 * missing shard-key field. Before 8.0 null also matches the deprecated undefined (SERVER-81378), so the filter excludes
 * undefined. Undefined itself is matched by its type, because no query may contain it. What a server would read as a
 * condition stands under `$eq`, which routers target by as well.
 * @param id the document's `_id`
 */
export function fullKeyFilter(
  document: Uint8Array,
  key: readonly ShardKeyField[],
  id: RawValue,
  source: KeySource = 'document',
): Buffer {
  const builder = new DocumentBuilder();
  for (const { field } of key) if (!isOfId(field)) addCondition(builder, field, plainValue(document, field, source));
  return addEquality(builder, '_id', id).finish();
}

function addCondition(builder: DocumentBuilder, field: string, value: RawValue): void {
  if (value.type === elementType.undefined) builder.begin(field).int32('$type', elementType.undefined).end();
  else if (value.type === elementType.null)
    builder.begin(field).raw('$eq', value).begin('$not').int32('$type', elementType.undefined).end().end();
  else addEquality(builder, field, value);
}

function addEquality(builder: DocumentBuilder, field: string, value: RawValue): DocumentBuilder {
  return isCondition(value) ? builder.begin(field).raw('$eq', value).end() : builder.raw(field, value);
}

/**
 * Whether a filter can contain a shard-key value unchanged and then matches only that value.
 * @param start where the value begins in `bytes`
 */
export function isPlainCondition(bytes: Uint8Array, type: number, start: number): boolean {
  return type !== elementType.undefined && type !== elementType.null && !isConditionAt(bytes, type, start);
}

/**
 * Whether an upsert can state the document's shard key. It cannot state a value that is undefined, which no query may
 * contain, nor one that routers do not find in a query, nor what is missing inside of `_id`, which is given whole.
 */
export function upsertStatesKey(document: Uint8Array, key: readonly ShardKeyField[]): boolean {
  return key.every(({ field }) => {
    const element = plainElement(document, field, 'document');
    if (element === null) return !isOfId(field);
    return element.type !== elementType.undefined && isKeyBound(rawValue(document, element));
  });
}

/** A chunk: its lower bound (BSON bytes, one value per shard-key field) and its owner. */
interface ChunkBounds {
  min: Uint8Array;
  shard: string;
}

interface Range {
  min: RawValue[];
  shard: string;
}

/** Finds the shard that owns a document of one sharded collection. */
export class ChunkMap {
  private readonly ranges: Range[];
  /** Set if the key is a single hashed field. */
  private readonly hashed: { field: ShardKeyField; ranges: HashedRanges } | null;
  /** The hash of the document being looked up; reused. */
  private readonly hash: Halves = { high: 0, low: 0 };

  /**
   * @param chunks all chunks of the collection in any order, without gaps
   * @throws RangeError when there are none
   */
  constructor(
    private readonly key: readonly ShardKeyField[],
    chunks: readonly ChunkBounds[],
  ) {
    if (chunks.length === 0) throw new RangeError('A sharded collection has at least one chunk');
    const ranges = chunks.map(({ min, shard }) => ({
      min: key.map(({ field }) => findValue(min, field) ?? nullValue),
      shard,
    }));
    this.ranges = ranges.sort((a, b) => compareKeys(a.min, b.min));
    const [field] = key;
    const isHashed = key.length === 1 && field?.hashed === true;
    this.hashed = isHashed ? { field, ranges: new HashedRanges(this.ranges.map(({ min }) => min[0])) } : null;
  }

  /** The id of the shard that owns a document, or a change event's document key. */
  ownerOf(document: Uint8Array, source: KeySource = 'document'): string {
    if (this.hashed !== null) {
      hashOfField(document, this.hashed.field, source, this.hash);
      return this.rangeAt(this.hashed.ranges.positionOf(this.hash)).shard;
    }
    const key = shardKeyOf(document, this.key, source);
    return this.lastWhere((position) => compareKeys(this.rangeAt(position).min, key) <= 0).shard;
  }

  owns(document: Uint8Array, shard: string, source: KeySource = 'document'): boolean {
    return this.ownerOf(document, source) === shard;
  }

  /** The last range whose lower bound is at most the key; the first range has no lower bound. */
  private lastWhere(isAtMost: (position: number) => boolean): Range {
    let low = 0;
    let high = this.ranges.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (isAtMost(middle)) low = middle;
      else high = middle - 1;
    }
    return this.rangeAt(low);
  }

  private rangeAt(position: number): Range {
    const range = this.ranges[position];
    if (range === undefined) throw new RangeError(`No chunk at ${position}`);
    return range;
  }
}

function compareKeys(a: readonly RawValue[], b: readonly RawValue[]): number {
  for (let position = 0; position < a.length; position += 1) {
    const [left, right] = [a[position], b[position]];
    if (left === undefined || right === undefined) break;
    const order = compareRaw(left, right);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** The lowest 64-bit integer. */
const hashMin = -(2n ** 63n);

/** Finds the range of a hash, for a key that is one hashed field; allocates nothing per document. */
export class HashedRanges {
  readonly #high: Int32Array;
  readonly #low: Uint32Array;

  /** @param lowest the lower bound of each range, ascending: integers, and MinKey for the lowest */
  constructor(lowest: readonly (RawValue | undefined)[]) {
    const hashes = lowest.map((bound) =>
      bound === undefined || bound.type === elementType.minKey ? hashMin : integerForHash(bound),
    );
    this.#high = Int32Array.from(hashes, (hash) => Number(hash >> 32n));
    this.#low = Uint32Array.from(hashes, (hash) => Number(hash & 0xffff_ffffn));
  }

  /** Position of the range that holds a hash: the last one whose lower bound is at most the hash. */
  positionOf({ high, low }: Readonly<Halves>): number {
    let first = 0;
    let last = this.#high.length - 1;
    while (first < last) {
      const middle = (first + last + 1) >>> 1;
      const bound = this.#high[middle] ?? 0;
      if (bound < high || (bound === high && (this.#low[middle] ?? 0) <= low)) first = middle;
      else last = middle - 1;
    }
    return first;
  }
}
