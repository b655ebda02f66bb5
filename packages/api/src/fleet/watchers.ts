import type { FleetNews } from './fleet.js';

/** Those who want to know of changes. Changes that come together are told together, after the present work is done. */
export class Watchers {
  readonly #listeners = new Set<(news: ReadonlySet<FleetNews>) => void>();
  #news: Set<FleetNews> | null = null;

  /** Calls the listener after every change from now on. Returns the function that ends it. */
  add(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    // Wrapped, so that the same function may watch twice and each end is its own.
    const entry = (news: ReadonlySet<FleetNews>): void => listener(news);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** Tells everybody soon, and once however often this is called before. */
  notify(news: FleetNews): void {
    if (this.#news !== null) {
      this.#news.add(news);
      return;
    }
    const together = new Set([news]);
    this.#news = together;
    setImmediate(() => {
      this.#news = null;
      for (const listener of this.#listeners) listener(together);
    });
  }
}
