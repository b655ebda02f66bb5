/** Entries of one block. 256 keeps both the search and the shifting of an insert short. */
const BLOCK_ENTRIES_MAX = 256;
/** Entries of a newly built block: some room, so that the next insert does not halve it. */
const BLOCK_ENTRIES_MADE = 192;
/** Entries that wait to be ordered. Sorting this many takes a tenth of a second. */
const LOOSE_ENTRIES_MAX = 65_536;
/** From this fraction of all on, loose entries are merged with the blocks at once. Fewer are inserted one by one. */
const MERGED_FRACTION_MIN = 1 / 8;

interface Block<V> {
  keys: string[];
  values: V[];
}

/** Bounds of a scan. An absent bound is open. */
export interface KeyRange {
  readonly from?: string;
  readonly fromInclusive?: boolean;
  readonly to?: string;
  readonly toInclusive?: boolean;
}

/**
 * A map from byte strings (one character per byte, so that string order is memcmp order) to values, in key order.
 * Scans may run while entries are added and removed: they go on behind the last key they gave.
 *
 * Keys that come in no order are kept loose, in a hash map, until a scan asks for the order: loads of random keys then
 * cost the same per entry at any size. Keys above all others go to the end at once.
 */
export class OrderedMap<V> {
  #blocks: Block<V>[] = [];
  /** None of them is above all ordered keys. */
  readonly #loose = new Map<string, V>();
  #changes = 0;
  #size = 0;
  /** The place of the last lookup: a lookup of a key is often followed by its insert. */
  #found = { key: '', changes: -1, blockIndex: 0, at: 0 };

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    if (this.#isAboveAll(key)) return undefined;
    const loose = this.#loose.size > 0 ? this.#loose.get(key) : undefined;
    if (loose !== undefined) return loose;
    const { blockIndex, at } = this.#locate(key);
    const block = this.#blocks[blockIndex];
    return block?.keys[at] === key ? block.values[at] : undefined;
  }

  set(key: string, value: V): void {
    if (this.#isAboveAll(key)) {
      this.#append(key, value);
      return;
    }
    if (this.#loose.size > 0 && this.#loose.has(key)) {
      this.#loose.set(key, value);
      return;
    }
    const { blockIndex, at } = this.#locate(key);
    const block = this.#blocks[blockIndex];
    if (block?.keys[at] === key) {
      block.values[at] = value;
      return;
    }
    this.#loose.set(key, value);
    this.#grown();
    if (this.#loose.size >= LOOSE_ENTRIES_MAX) this.#settle();
  }

  delete(key: string): boolean {
    if (this.#loose.delete(key)) {
      this.#size -= 1;
      this.#changes += 1;
      return true;
    }
    const { blockIndex, at } = this.#locate(key);
    const block = this.#blocks[blockIndex];
    if (block?.keys[at] !== key) return false;
    if (blockIndex === this.#blocks.length - 1 && at === block.keys.length - 1 && this.#loose.size > 0) {
      this.#settle();
      return this.delete(key);
    }
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
      this.#settle();
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
      this.#settle();
      const changes = this.#changes;
      let blockIndex =
        bound === undefined ? this.#blocks.length - 1 : Math.min(this.#blockOf(bound), this.#blocks.length - 1);
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
        if (range.from !== undefined && (key < range.from || (key === range.from && range.fromInclusive === false)))
          return;
        bound = key;
        inclusive = false;
        yield [key, block.values[at] as V];
        if (this.#changes !== changes) break;
        at -= 1;
      }
    }
  }

  /** The block and place of a key, or where it belongs. Keys above all others belong at the end of the last block. */
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

  #isAboveAll(key: string): boolean {
    const last = this.#blocks[this.#blocks.length - 1];
    return last === undefined || key > (last.keys[last.keys.length - 1] as string);
  }

  /** Adds a key above all ordered ones. */
  #append(key: string, value: V): void {
    const last = this.#blocks[this.#blocks.length - 1];
    if (last === undefined || last.keys.length >= BLOCK_ENTRIES_MAX)
      this.#blocks.push({ keys: [key], values: [value] });
    else {
      last.keys.push(key);
      last.values.push(value);
    }
    this.#grown();
  }

  /** Orders the loose entries. */
  #settle(): void {
    const { size } = this.#loose;
    if (size === 0) return;
    if (size >= this.#size * MERGED_FRACTION_MIN) this.#merge();
    else for (const [key, value] of this.#loose) this.#place(key, value);
    this.#loose.clear();
    this.#changes += 1;
  }

  /** Rebuilds all blocks from the loose entries and the ordered ones. */
  #merge(): void {
    const made = new BlockMaker<V>();
    const loose = [...this.#loose.keys()].sort();
    let at = 0;
    for (const { keys, values } of this.#blocks) {
      for (let place = 0; place < keys.length; place += 1) {
        const key = keys[place] as string;
        for (; at < loose.length && (loose[at] as string) < key; at += 1)
          made.add(loose[at] as string, this.#loose.get(loose[at] as string) as V);
        made.add(key, values[place] as V);
      }
    }
    for (; at < loose.length; at += 1) made.add(loose[at] as string, this.#loose.get(loose[at] as string) as V);
    this.#blocks = made.blocks;
  }

  /** Inserts one loose entry, whose key no block has, into its block. */
  #place(key: string, value: V): void {
    const blockIndex = Math.min(this.#blockOf(key), this.#blocks.length - 1);
    const block = this.#blocks[blockIndex] as Block<V>;
    const at = lowerBound(block.keys, key);
    block.keys.splice(at, 0, key);
    block.values.splice(at, 0, value);
    if (block.keys.length > BLOCK_ENTRIES_MAX) this.#halve(block, blockIndex);
  }

  #grown(): void {
    this.#size += 1;
    this.#changes += 1;
  }

  #halve(block: Block<V>, blockIndex: number): void {
    const cut = block.keys.length >> 1;
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

/** Fills blocks with ordered entries. */
class BlockMaker<V> {
  readonly blocks: Block<V>[] = [];
  #last: Block<V> | undefined;

  add(key: string, value: V): void {
    let last = this.#last;
    if (last === undefined || last.keys.length >= BLOCK_ENTRIES_MADE) {
      last = { keys: [], values: [] };
      this.blocks.push(last);
      this.#last = last;
    }
    last.keys.push(key);
    last.values.push(value);
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
