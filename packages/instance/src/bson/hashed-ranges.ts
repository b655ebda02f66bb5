import { elementType } from './element-type.js';
import type { Halves } from './md5-block.js';
import { integerForHash } from './number.js';
import type { RawValue } from './scan.js';

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
