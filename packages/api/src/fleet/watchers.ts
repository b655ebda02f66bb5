import type { FleetNews } from './fleet.js';

/** Subscribers to changes. Changes of one turn of the event loop arrive in one call. */
export class Watchers {
  readonly #listeners = new Set<(news: ReadonlySet<FleetNews>) => void>();
  #news: Set<FleetNews> | null = null;

  /** Calls the listener after every later change. Returns the function that unsubscribes. */
  add(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    // The wrapper lets one function subscribe twice, each with its own end.
    const entry = (news: ReadonlySet<FleetNews>): void => listener(news);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** Notifies all listeners in the next turn, once for any number of calls. */
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
