import { describe, expect, it } from 'vitest';
import { parseCollation } from '../../../src/bson/collation.js';
import type { Doc } from '../../../src/bson/value.js';
import { toExtendedJson } from '../../extended-json.js';
import { compileSort, sortDocuments } from '../../../src/query/sort.js';
import { corpusSteps } from '../corpus.js';
import { doc } from '../json.js';

describe('sorting', () => {
  it('orders ids as the recorded index scan did', () => {
    const step = corpusSteps('03').find(
      ({ command }) => command?.find === 'ids' && 'min' in command && command.batchSize !== undefined,
    );
    const { firstBatch } = step?.reply?.cursor as { firstBatch: Record<string, unknown>[] };
    const sorted = firstBatch.map(doc);
    expect(sorted.length).toBeGreaterThan(15);
    const shuffled = [...sorted].sort((a, b) => Number(a.get('n')) - Number(b.get('n')));
    expect(sortDocuments(shuffled, doc({ _id: 1 })).map((found) => toExtendedJson(found))).toEqual(firstBatch);
  });

  it('takes the least or greatest element of an array, and empty arrays below null', () => {
    const docs = [doc({ n: 1, a: [5, 1] }), doc({ n: 2, a: 3 }), doc({ n: 3, a: [] }), doc({ n: 4 })];
    const order = (spec: Doc): number[] => sortDocuments(docs, spec).map((found) => Number(found.get('n')));
    expect(order(doc({ a: 1 }))).toEqual([3, 4, 1, 2]);
    expect(order(doc({ a: -1 }))).toEqual([1, 2, 4, 3]);
  });

  it('takes the first of the keys that an index would hold, and refuses arrays on two paths', () => {
    const docs = [
      doc({
        n: 1,
        a: [
          { x: 1, y: 9 },
          { x: 2, y: 0 },
        ],
      }),
      doc({ n: 2, a: { x: 1, y: 5 } }),
      doc({ n: 3, a: [[1, 2], 3] }),
    ];
    const order = (spec: Doc): number[] => sortDocuments(docs, spec).map((found) => Number(found.get('n')));
    expect(order(doc({ 'a.x': 1, 'a.y': 1 }))).toEqual([3, 2, 1]);
    expect(order(doc({ 'a.0': -1 }))[0]).toBe(3);
    expect(() => sortDocuments([doc({ a: [1], b: [1] })], doc({ a: 1, b: 1 }))).toThrow(
      'cannot sort with keys that are parallel arrays',
    );
  });

  it('uses a collation', () => {
    const compare = compileSort(doc({ a: 1 }), parseCollation(doc({ locale: 'en', strength: 2 })));
    expect(compare(doc({ a: 'a' }), doc({ a: 'A' }))).toBe(0);
    expect(compileSort(doc({ a: 1 }))(doc({ a: 'B' }), doc({ a: 'a' }))).toBeLessThan(0);
  });
});
