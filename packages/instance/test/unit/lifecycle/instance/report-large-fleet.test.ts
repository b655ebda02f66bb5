import { describe, expect, it } from 'vitest';
import { namesFleet, reportInterval_ms } from '../../../../src/lifecycle/instance/report.js';

const idsOf = (size: number): string[] => Array.from({ length: size }, (_, at) => `shard${at}`);
const naming = (size: number): string[] => {
  const ids = idsOf(size);
  return ids.filter((id) => namesFleet(id, ids, false));
};

describe('a large fleet', () => {
  it('names its instances in a few reports, a small one in all', () => {
    expect([naming(2), naming(16), naming(17), naming(256)].map(({ length }) => length)).toEqual([2, 16, 3, 3]);
  });

  it('always has a leader that names them, even one that the source does not need', () => {
    expect(namesFleet('shard200', idsOf(256), true)).toBe(true);
    expect(namesFleet('elsewhere', idsOf(256), true)).toBe(true);
  });

  it('reports at most 250 times a second together, and each at least as often as an idle one', () => {
    for (const size of [1, 2, 62]) expect(reportInterval_ms(size)).toBe(250);
    for (const size of [64, 256, 1_000]) expect((size * 1_000) / reportInterval_ms(size)).toBeCloseTo(250);
  });
});
