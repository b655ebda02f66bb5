import { compareRaw } from './compare.js';
import { HashedRanges } from './hashed-ranges.js';
import type { Halves } from './md5-block.js';
import { findValue, nullValue, type RawValue } from './scan.js';
import { hashOfField, shardKeyOf, type KeySource, type ShardKeyField } from './shard-key.js';

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
