import type { Write } from './operation.js';

export interface Item {
  _id: number;
  k: number;
  v?: number;
  n?: number;
}

/** What the documents of a collection ought to be, by `_id`. */
export class Model {
  #items = new Map<number, Item>();

  get(id: number): Item | undefined {
    return this.#items.get(id);
  }

  /** All documents in the order of `_id`. */
  documents(): Item[] {
    return [...this.#items.values()].map((item) => ({ ...item })).sort((a, b) => a._id - b._id);
  }

  copy(): Model {
    const copy = new Model();
    for (const [id, item] of this.#items) copy.#items.set(id, { ...item });
    return copy;
  }

  clear(): void {
    this.#items.clear();
  }

  /** Takes over the documents of another model. */
  become(other: Model): void {
    this.#items = other.copy().#items;
  }

  /** True for a write that has something to do: there is one to be changed, or none where one is to be inserted. */
  allows(write: Write): boolean {
    if (!('id' in write)) return true;
    return this.#items.has(write.id) !== (write.kind === 'insert' || write.kind === 'upsert');
  }

  apply(write: Write): void {
    switch (write.kind) {
      case 'insert':
      case 'upsert':
        this.#items.set(write.id, { _id: write.id, k: write.k, v: write.v });
        return;
      case 'delete':
      case 'findAndRemove':
        this.#items.delete(write.id);
        return;
      case 'deleteMany':
        for (const item of this.#above(write.above)) this.#items.delete(item._id);
        return;
      case 'incrementMany':
        for (const item of this.#above(write.above)) item.n = (item.n ?? 0) + 1;
        return;
      default:
        this.#change(write);
    }
  }

  #change(write: Extract<Write, { kind: 'set' | 'replace' | 'findAndModify' | 'moveKey' | 'unset' }>): void {
    const item = this.#items.get(write.id);
    if (item === undefined) return;
    if (write.kind === 'moveKey') item.k = write.k;
    else if (write.kind === 'unset') delete item.v;
    else if (write.kind === 'replace') this.#items.set(write.id, { _id: write.id, k: item.k, v: write.v });
    else item.v = write.v;
  }

  #above(limit: number): Item[] {
    return [...this.#items.values()].filter(({ v }) => v !== undefined && v >= limit);
  }
}
