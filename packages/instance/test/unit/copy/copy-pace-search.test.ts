import { describe, expect, it } from 'vitest';
import { type Concurrency, ConcurrencySearch } from '../../../src/copy/copy-pace.js';

const limits = { readers: 8, writers: 8 };

/** The concurrency of each window, when a concurrency has the throughput `rateOf`. */
function climb(
  search: ConcurrencySearch,
  windows: number,
  rateOf: (concurrency: Concurrency, window: number) => number,
): Concurrency[] {
  return Array.from({ length: windows }, (_, window) => {
    const concurrency = { ...search.concurrency };
    search.measured(rateOf(concurrency, window));
    return concurrency;
  });
}

/** The most frequent concurrency. */
function usual(concurrencies: readonly Concurrency[]): Concurrency {
  const counts = new Map<string, number>();
  for (const concurrency of concurrencies)
    counts.set(JSON.stringify(concurrency), (counts.get(JSON.stringify(concurrency)) ?? 0) + 1);
  return JSON.parse([...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0]) as Concurrency;
}

describe('the search for the best concurrency', () => {
  it.each([
    ['few are best', { readers: 1, writers: 1 }],
    ['many writers are best', { readers: 2, writers: 6 }],
    ['many of both are best', { readers: 7, writers: 5 }],
  ])('finds the best concurrency where %s', (_what, best) => {
    const search = new ConcurrencySearch(limits);
    const rate = ({ readers, writers }: Concurrency) =>
      100 / (1 + Math.abs(readers - best.readers) + Math.abs(writers - best.writers));
    climb(search, 60, rate);
    expect(usual(climb(search, 60, rate))).toEqual(best);
  });

  it('ignores gains that are noise', () => {
    const search = new ConcurrencySearch(limits);
    const concurrencies = climb(search, 200, (_, window) => 100 + (window % 3));
    expect(usual(concurrencies)).toEqual(limits);
    expect(concurrencies.every(({ readers, writers }) => 16 - readers - writers <= 1)).toBe(true);
  });

  it('stays mostly at the best concurrency once found', () => {
    const search = new ConcurrencySearch(limits);
    const concurrencies = climb(search, 400, () => 100).slice(100);
    expect(
      concurrencies.filter(({ readers, writers }) => readers === 8 && writers === 8).length / concurrencies.length,
    ).toBeGreaterThan(0.85);
  });

  it('takes large steps from high limits', () => {
    const search = new ConcurrencySearch({ readers: 64, writers: 64 });
    const rate = ({ readers, writers }: Concurrency) => 1000 / (readers + writers);
    climb(search, 40, rate);
    expect(search.concurrency.readers + search.concurrency.writers).toBeLessThan(40);
  });

  it('searches again when the load changes', () => {
    const search = new ConcurrencySearch(limits);
    climb(search, 100, ({ writers }) => 100 / writers);
    expect(search.concurrency.writers).toBeLessThanOrEqual(2);
    climb(search, 200, ({ writers }) => 100 * writers);
    expect(usual(climb(search, 40, ({ writers }) => 100 * writers)).writers).toBe(8);
  });

  it.each([[{ readers: 1, writers: 1 }], [{ readers: 1, writers: 4 }], [{ readers: 3, writers: 1 }]])(
    'stays within the limits %j',
    (max) => {
      const search = new ConcurrencySearch(max);
      const concurrencies = climb(search, 300, (_, window) => 1 + ((window * 7919) % 101));
      expect(
        concurrencies.every(
          ({ readers, writers }) => readers >= 1 && readers <= max.readers && writers >= 1 && writers <= max.writers,
        ),
      ).toBe(true);
    },
  );
});
