/** Entries of one block; 256 keeps both the search and the shifting of an insert short. */
const BLOCK_ENTRIES_MAX = 256;

interface Block<V> {
  keys: string[];
  values: V[];
}

/** Bounds of a scan; an absent bound is open. */
export interface KeyRange {
  readonly from?: string;
  readonly fromInclusive?: boolean;
  readonly to?: string;
  readonly toInclusive?: boolean;
}

/**
 * A map from byte strings (one character per byte, so that string order is memcmp order) to values, in key order.
 * Scans may run while entries are added and removed: they go on behind the last key they gave.
 */
export class OrderedMap<V> {
  #blocks: Block<V>[] = [];
  #changes = 0;
  #size = 0;
  /** Where the last key looked up lies or belongs: whoever asks for a key often sets it next. */
  #found = { key: '', changes: -1, blockIndex: 0, at: 0 };

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const { blockIndex, at } = this.#locate(key);
    const block = this.#blocks[blockIndex];
    return block?.keys[at] === key ? block.values[at] : undefined;
  }

  set(key: string, value: V): void {
    const last = this.#blocks.at(-1);
    if (last === undefined) {
      this.#blocks.push({ keys: [key], values: [value] });
      this.#grown();
      return;
    }
    const { blockIndex, at } = this.#locate(key);
    const block = this.#blocks[blockIndex] ?? last;
    if (block.keys[at] === key) {
      block.values[at] = value;
      return;
    }
    if (at === block.keys.length) {
      block.keys.push(key);
      block.values.push(value);
    } else {
      block.keys.splice(at, 0, key);
      block.values.splice(at, 0, value);
    }
    this.#grown();
    if (block.keys.length > BLOCK_ENTRIES_MAX) this.#split(block, blockIndex, at);
  }

  delete(key: string): boolean {
    const { blockIndex, at } = this.#locate(key);
    const block = this.#blocks[blockIndex];
    if (block?.keys[at] !== key) return false;
    block.keys.splice(at, 1);
    block.values.splice(at, 1);
    if (block.keys.length === 0) this.#blocks.splice(blockIndex, 1);
    this.#size -= 1;
    this.#changes += 1;
    return true;
  }

  /** Entries of the range in ascending order. */
  *ascend(range: KeyRange): Generator<[string, V]> {
    let bound = range.from ?? '';
    let inclusive = range.from === undefined || range.fromInclusive !== false;
    for (;;) {
      const changes = this.#changes;
      let blockIndex = this.#blockOf(bound);
      let at = this.#seek(blockIndex, bound, inclusive);
      for (;;) {
        const block = this.#blocks[blockIndex];
        if (block === undefined) return;
        const key = block.keys[at];
        if (key === undefined) {
          blockIndex += 1;
          at = 0;
          continue;
        }
        if (range.to !== undefined && (key > range.to || (key === range.to && range.toInclusive !== true))) return;
        bound = key;
        inclusive = false;
        yield [key, block.values[at] as V];
        if (this.#changes !== changes) break;
        at += 1;
      }
    }
  }

  /** Entries of the range in descending order. */
  *descend(range: KeyRange): Generator<[string, V]> {
    let bound = range.to;
    let inclusive = range.toInclusive === true;
    for (;;) {
      const changes = this.#changes;
      let blockIndex = bound === undefined ? this.#blocks.length - 1 : Math.min(this.#blockOf(bound), this.#blocks.length - 1);
      let at = this.#seekBack(blockIndex, bound, inclusive);
      for (;;) {
        const block = this.#blocks[blockIndex];
        if (block === undefined) return;
        if (at < 0) {
          blockIndex -= 1;
          at = (this.#blocks[blockIndex]?.keys.length ?? 0) - 1;
          continue;
        }
        const key = block.keys[at] as string;
        if (range.from !== undefined && (key < range.from || (key === range.from && range.fromInclusive === false))) return;
        bound = key;
        inclusive = false;
        yield [key, block.values[at] as V];
        if (this.#changes !== changes) break;
        at -= 1;
      }
    }
  }

  /** The block and place of a key, or where it belongs; keys above all others belong at the end of the last block. */
  #locate(key: string): { readonly blockIndex: number; readonly at: number } {
    const found = this.#found;
    if (found.changes === this.#changes && found.key === key) return found;
    found.key = key;
    found.changes = this.#changes;
    found.blockIndex = Math.max(0, Math.min(this.#blockOf(key), this.#blocks.length - 1));
    const block = this.#blocks[found.blockIndex];
    found.at = block === undefined ? 0 : lowerBound(block.keys, key);
    return found;
  }

  #grown(): void {
    this.#size += 1;
    this.#changes += 1;
  }

  /** Keys that only grow leave their blocks full; others are halved. */
  #split(block: Block<V>, blockIndex: number, insertedAt: number): void {
    const appended = blockIndex === this.#blocks.length - 1 && insertedAt === block.keys.length - 1;
    const cut = appended ? block.keys.length - 1 : block.keys.length >> 1;
    const upper = { keys: block.keys.splice(cut), values: block.values.splice(cut) };
    this.#blocks.splice(blockIndex + 1, 0, upper);
  }

  /** Index of the first block whose last key is not below `key`. */
  #blockOf(key: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const keys = (this.#blocks[middle] as Block<V>).keys;
      if ((keys[keys.length - 1] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #seek(blockIndex: number, bound: string, inclusive: boolean): number {
    const block = this.#blocks[blockIndex];
    if (block === undefined) return 0;
    const at = lowerBound(block.keys, bound);
    return !inclusive && block.keys[at] === bound ? at + 1 : at;
  }

  #seekBack(blockIndex: number, bound: string | undefined, inclusive: boolean): number {
    const block = this.#blocks[blockIndex];
    if (block === undefined) return -1;
    if (bound === undefined) return block.keys.length - 1;
    const at = lowerBound(block.keys, bound);
    return inclusive && block.keys[at] === bound ? at : at - 1;
  }
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
