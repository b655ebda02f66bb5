/** Those who want to know of changes. Changes that come together are told together, after the present work is done. */
export class Watchers {
  readonly #listeners = new Set<() => void>();
  #scheduled = false;

  /** Calls the listener after every change from now on. Returns the function that ends it. */
  add(listener: () => void): () => void {
    // Wrapped, so that the same function may watch twice and each end is its own.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** Tells everybody soon, and once however often this is called before. */
  notify(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
