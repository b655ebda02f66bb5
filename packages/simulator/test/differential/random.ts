import { seededRandom } from '../integration/seeded-random.js';

/** Draws that depend on a seed alone. */
export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.#next() * (to - from + 1));
  }

  chance(fraction: number): boolean {
    return this.#next() < fraction;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(0, from.length - 1)] as T;
  }

  /** Makes one of several things, each as often as its weight says. */
  weighted<T>(makers: readonly (readonly [weight: number, make: () => T])[]): T {
    let at = this.#next() * makers.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of makers) {
      at -= weight;
      if (at < 0) return make();
    }
    return (makers.at(-1) as (typeof makers)[number])[1]();
  }

  /** Between `from` and `to` things. */
  list<T>(from: number, to: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.int(from, to) }, (_, index) => make(index));
  }

  /** Different ones, in a random order. */
  some<T>(of: readonly T[], count: number): T[] {
    const left = [...of];
    return Array.from(
      { length: Math.min(count, left.length) },
      () => left.splice(this.int(0, left.length - 1), 1)[0] as T,
    );
  }
}
