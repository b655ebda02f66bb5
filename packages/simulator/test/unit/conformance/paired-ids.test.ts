import { describe, expect, it } from 'vitest';
import type { Json } from '../../conformance/corpus-file.js';
import { PairedIds } from '../../conformance/paired-ids.js';

const asked = { subject: 'find collections', step: '02-catalog:101' };

function outcome(...uuids: string[]): Json {
  const firstBatch = uuids.map((letter) => ({
    uuid: { $binary: { base64: Buffer.alloc(16, letter).toString('base64'), subType: '04' } },
  }));
  return { cursor: { firstBatch } };
}

describe('PairedIds', () => {
  it('lets one id stand for another, the same everywhere', () => {
    const ids = new PairedIds();
    expect(ids.contradictions(outcome('a', 'b', 'a'), outcome('x', 'y', 'x'), asked)).toEqual([]);
    expect(ids.contradictions(outcome('b'), outcome('y'), asked)).toEqual([]);
  });

  it('finds an id that stands for two, and two that stand for one', () => {
    expect(new PairedIds().contradictions(outcome('a', 'a'), outcome('x', 'y'), asked)).toHaveLength(1);
    expect(new PairedIds().contradictions(outcome('a', 'b'), outcome('x', 'x'), asked)).toHaveLength(1);
  });

  it('remembers over outcomes', () => {
    const ids = new PairedIds();
    expect(ids.contradictions(outcome('a'), outcome('x'), asked)).toEqual([]);
    expect(ids.contradictions(outcome('a'), outcome('y'), asked)).toMatchObject([
      { path: 'cursor.firstBatch[].uuid (names another)' },
    ]);
  });
});
