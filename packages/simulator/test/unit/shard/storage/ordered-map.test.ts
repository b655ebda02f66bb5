import { describe, expect, it } from 'vitest';
import { testSeed } from '../../../../../../test/seed.js';
import { OrderedMap } from '../../../../src/shard/storage/ordered-map.js';

/** A small generator: a failure can be run again from its seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describe('OrderedMap', () => {
  it('holds what a sorted list holds, after random inserts and removals', () => {
    const random = randomFrom(testSeed);
    const map = new OrderedMap<number>();
    const model = new Map<string, number>();
    for (let round = 0; round < 20_000; round += 1) {
      const key = Math.floor(random() * 4000).toString(36);
      if (random() < 0.65) {
        map.set(key, round);
        model.set(key, round);
      } else {
        expect(map.delete(key)).toBe(model.delete(key));
      }
    }
    const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
    expect([...map.ascend({})]).toEqual(sorted);
    expect([...map.descend({})]).toEqual([...sorted].reverse());
    const between = sorted.filter(([key]) => key >= '1a' && key < '2b');
    expect([...map.ascend({ from: '1a', to: '2b' })]).toEqual(between);
    expect([...map.descend({ from: '1a', to: '2b' })]).toEqual(between.reverse());
    expect(map.size).toBe(model.size);
  });

  it('puts loads of random keys in order whenever a scan asks, few and many at a time', () => {
    const random = randomFrom(testSeed);
    const map = new OrderedMap<number>();
    const model = new Map<string, number>();
    for (const load of [3000, 10, 1, 2000, 5, 70_000, 100]) {
      for (let count = 0; count < load; count += 1) {
        const key = Math.floor(random() * 1e6).toString(36);
        expect(map.get(key)).toBe(model.get(key));
        map.set(key, count);
        model.set(key, count);
      }
      const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
      expect([...map.ascend({})]).toEqual(sorted);
      expect(map.size).toBe(model.size);
    }
  });

  it('keeps its place while entries come and go', () => {
    const map = new OrderedMap<number>();
    for (let number = 0; number < 1000; number += 1) map.set(String(number).padStart(4, '0'), number);
    const seen: string[] = [];
    for (const [key] of map.ascend({})) {
      seen.push(key);
      map.delete(key);
      if (key === '0500') map.set('0500a', -1);
    }
    expect(seen).toHaveLength(1001);
    expect(seen[501]).toBe('0500a');
    expect(map.size).toBe(0);
  });
});
