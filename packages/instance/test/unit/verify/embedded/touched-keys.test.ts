import { describe, expect, it } from 'vitest';
import { encodeValue } from '../../../../src/bson/scan.js';
import { TouchedKeys } from '../../../../src/verify/embedded/touched-keys.js';

const id = (value: unknown) => encodeValue(value);
const all = () => true;

describe('keys that were written', () => {
  it('are one for all _ids that are equal, and remember the first time on each side', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), 5n, 0);
    keys.add('destination', 'c', id(1), 7n, 0);
    keys.add('source', 'c', id(1), 9n, 0);
    expect(keys.size).toBe(1);
    expect([keys.oldest('source'), keys.oldest('destination')]).toEqual([5n, 7n]);
    expect(keys.some(10, all)).toMatchObject([{ last: { source: 9n, destination: 7n } }]);
  });

  it('wait from the first write since their last check, however often they are written', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('destination', 'c', id(1), 4n, 0);
    for (const time of [5n, 9n, 20n]) keys.add('source', 'c', id(1), time, 0);
    const [key] = keys.some(1, all);
    if (key === undefined) throw new Error('no key');
    expect(key.appliedFrom).toBe(5n);
    keys.begin(key);
    for (const time of [30n, 40n]) keys.add('source', 'c', id(1), time, 0);
    keys.done(key, 0);
    expect(key).toMatchObject({ appliedFrom: 30n, last: { source: 40n } });
  });

  it('that are written during a check are checked again, from that time on', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), 5n, 0);
    const [key] = keys.some(1, all);
    if (key === undefined) throw new Error('no key');
    keys.begin(key);
    keys.add('source', 'c', id(1), 8n, 0);
    expect(keys.oldest('source')).toBe(5n);
    keys.done(key, 1_000);
    expect([keys.size, keys.oldest('source')]).toEqual([1, 8n]);
    expect(key).toMatchObject({ notBefore_ms: 1_000, appliedFrom: 8n });
    keys.begin(key);
    keys.done(key, 2_000);
    expect([keys.size, keys.oldest('source')]).toEqual([0, null]);
  });

  it('keep writes from the time of an interrupted check', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), 5n, 0);
    const [key] = keys.some(1, all);
    if (key === undefined) throw new Error('no key');
    keys.begin(key);
    keys.add('destination', 'c', id(1), 8n, 0);
    keys.begin(key);
    expect([keys.oldest('source'), keys.oldest('destination')]).toEqual([5n, 8n]);
  });

  it('of a forgotten collection hold back nothing, even if a check of them is under way', () => {
    const keys = new TouchedKeys(10_000);
    keys.add('source', 'c', id(1), 5n, 0);
    keys.add('source', 'c', id(2), 6n, 0);
    const checked = keys.some(2, all);
    for (const key of checked) keys.begin(key);
    keys.add('source', 'c', id(1), 7n, 0);
    keys.forget('c');
    for (const key of checked) keys.keep(key, 0, 9n);
    expect([keys.size, keys.oldest('source')]).toEqual([0, null]);
  });

  it('have the earliest write first, over seconds and in any order', () => {
    const keys = new TouchedKeys(100_000);
    const times = [7n << 32n, (3n << 32n) + 9n, (3n << 32n) + 2n, 5n << 32n];
    for (const [index, time] of times.entries()) keys.add('source', 'c', id(index), time, 0);
    const seen: (bigint | null)[] = [];
    for (let oldest = keys.oldest('source'); oldest !== null; oldest = keys.oldest('source')) {
      seen.push(oldest);
      for (const key of keys.some(1, ({ first }) => first.source === oldest)) {
        keys.begin(key);
        keys.done(key, 0);
      }
    }
    expect(seen).toEqual([(3n << 32n) + 2n, (3n << 32n) + 9n, 5n << 32n, 7n << 32n]);
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
