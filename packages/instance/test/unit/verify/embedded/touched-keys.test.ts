import { describe, expect, it } from 'vitest';
import { encodeValue } from '../../../../src/bson/scan.js';
import { TouchedKeys } from '../../../../src/verify/embedded/touched-keys.js';

const id = (value: unknown) => encodeValue(value);
const all = () => true;
/** A cluster time at the beginning of a second. */
const at = (second: number) => BigInt(second) << 32n;

describe('keys that were written', () => {
  it('are one for all _ids that are equal, and remember the first time on each side', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), at(5), 0);
    keys.add('destination', 'c', id(1), at(7), 0);
    keys.add('source', 'c', id(1), at(9), 0);
    expect(keys.size).toBe(1);
    expect([keys.oldest('source'), keys.oldest('destination')]).toEqual([at(5), at(7)]);
    expect(keys.some(10, all)).toMatchObject([{ last: { source: at(9), destination: at(7) } }]);
  });

  it('wait from the first write since their last check, however often they are written', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('destination', 'c', id(1), at(4), 0);
    for (const time of [at(5), at(9), at(20)]) keys.add('source', 'c', id(1), time, 0);
    const [key] = keys.some(1, all);
    if (key === undefined) throw new Error('no key');
    expect(key.appliedFrom).toBe(at(5));
    keys.begin(key);
    for (const time of [at(30), at(40)]) keys.add('source', 'c', id(1), time, 0);
    keys.done(key, 0);
    expect(key).toMatchObject({ appliedFrom: at(30), last: { source: at(40) } });
  });

  it('that are written during a check are checked again, from that time on', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), at(5), 0);
    const [key] = keys.some(1, all);
    if (key === undefined) throw new Error('no key');
    keys.begin(key);
    keys.add('source', 'c', id(1), at(8), 0);
    expect(keys.oldest('source')).toBe(at(5));
    keys.done(key, 1_000);
    expect([keys.size, keys.oldest('source')]).toEqual([1, at(8)]);
    expect(key).toMatchObject({ notBefore_ms: 1_000, appliedFrom: at(8) });
    keys.begin(key);
    keys.done(key, 2_000);
    expect([keys.size, keys.oldest('source')]).toEqual([0, null]);
  });

  it('keep writes from the time of an interrupted check', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), at(5), 0);
    const [key] = keys.some(1, all);
    if (key === undefined) throw new Error('no key');
    keys.begin(key);
    keys.add('destination', 'c', id(1), at(8), 0);
    keys.begin(key);
    expect([keys.oldest('source'), keys.oldest('destination')]).toEqual([at(5), at(8)]);
  });

  it('of a forgotten collection hold back nothing, even if a check of them is under way', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), at(5), 0);
    keys.add('source', 'c', id(2), at(6), 0);
    const checked = keys.some(2, all);
    for (const key of checked) keys.begin(key);
    keys.add('source', 'c', id(1), at(7), 0);
    keys.forget('c');
    for (const key of checked) keys.keep(key, 0, at(9));
    expect([keys.size, keys.oldest('source')]).toEqual([0, null]);
  });

  it('have the second of the earliest write first, in any order', () => {
    const keys = new TouchedKeys(100_000);
    const times = [at(7), at(3) + 9n, at(3) + 2n, at(5)];
    for (const [index, time] of times.entries()) keys.add('source', 'c', id(index), time, 0);
    const seen: (bigint | null)[] = [];
    for (const _ of times) {
      const oldest = keys.oldest('source');
      seen.push(oldest);
      const [key] = keys.some(1, ({ first }) => (first.source ?? 0n) >> 32n === (oldest ?? 0n) >> 32n);
      if (key === undefined) throw new Error('no key');
      keys.begin(key);
      keys.done(key, 0);
    }
    expect([...seen, keys.oldest('source')]).toEqual([at(3), at(3), at(5), at(7), null]);
  });

  it('are bounded in bytes, also when a collection is forgotten', () => {
    const keys = new TouchedKeys(1_000);
    keys.add('source', 'c', id('x'), 1n, 0);
    expect(keys.isFull).toBe(false);
    keys.add('source', 'd', id('y'), 1n, 0);
    expect(keys.isFull).toBe(true);
    keys.forget('d');
    expect([keys.isFull, keys.size]).toEqual([false, 1]);
  });
});
