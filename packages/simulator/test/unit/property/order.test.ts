import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareDocs, compareValues, equalValues } from '../../../src/bson/compare.js';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument } from '../../../src/bson/encode.js';
import { fromExtendedJson } from '../../extended-json.js';
import { encodeKeyString } from '../../../src/bson/key-string.js';
import type { Doc, Value } from '../../../src/bson/value.js';
import { splitPath, valueAtPath } from '../../../src/query/document-path.js';
import { document, number, value } from '../bson/arbitrary-value.js';
import { corpusNumbers, corpusSteps } from '../corpus.js';
import { runs } from './runs.js';

interface SortedReply {
  where: string;
  path: string;
  ascending: boolean;
  documents: Doc[];
}

/**
 * Every recorded find that sorted by one field, or went along an index of one field on one shard, and gave more than
 * one document.
 */
function recordedSorts(): SortedReply[] {
  const found: SortedReply[] = [];
  for (const file of corpusNumbers()) {
    for (const { step, on, command, reply } of corpusSteps(file)) {
      const order = command?.['sort'] ?? (on === 'router' && command?.['find'] !== 'ids' ? {} : command?.['hint']);
      const [field, ...others] = Object.entries((order ?? {}) as Record<string, { $numberInt: string }>);
      const batch = (reply?.['cursor'] as { firstBatch?: Record<string, unknown>[] } | undefined)?.firstBatch ?? [];
      if (field === undefined || others.length > 0 || field[0] === '$natural' || batch.length < 2) continue;
      found.push({
        where: `${file}, step ${step ?? 0}`,
        path: field[0],
        ascending: field[1].$numberInt === '1',
        documents: batch.map((each) => fromExtendedJson(each) as Doc),
      });
    }
  }
  return found;
}

const sign = (order: number): number => Math.sign(order) + 0;

describe('the order of values', () => {
  it('sorts lists of any values as their key strings sort', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(value, number), { maxLength: 12 }), (values) => {
        const byValue = [...values].sort((a, b) => compareValues(a, b)).map((each) => encodeKeyString([each]));
        const byKey = values.map((each) => encodeKeyString([each])).sort((a, b) => Buffer.compare(a, b));
        expect(byValue).toEqual(byKey);
      }),
      runs(300, 10_000),
    );
  });

  it('is total: no two comparisons of three values contradict the third, and equal values compare alike', () => {
    fc.assert(
      fc.property(fc.oneof(fc.tuple(value, value, value), fc.tuple(number, number, number)), ([a, b, c]) => {
        expect(sign(compareValues(a, b))).toBe(sign(-compareValues(b, a)));
        if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) expect(compareValues(a, c)).toBeLessThanOrEqual(0);
        if (equalValues(a, b)) expect(sign(compareValues(a, c))).toBe(sign(compareValues(b, c)));
      }),
      runs(500, 20_000),
    );
  });

  it('of documents does not change on the way through bytes', () => {
    fc.assert(
      fc.property(document, document, (a, b) => {
        const through = (each: Doc): Doc => decodeDocument(encodeDocument(each));
        expect(sign(compareDocs(through(a), through(b)))).toBe(sign(compareDocs(a, b)));
      }),
      runs(300, 10_000),
    );
  });

  it('is the order in which the real server sorted', () => {
    const sorts = recordedSorts();
    expect(sorts.length).toBeGreaterThanOrEqual(20);
    for (const { where, path, ascending, documents } of sorts) {
      const keys: Value[] = documents.map((each) => valueAtPath(each, splitPath(path)) ?? null);
      for (let at = 1; at < keys.length; at += 1) {
        const order = compareValues(keys[at - 1] ?? null, keys[at] ?? null);
        expect(ascending ? order : -order, `${where}, document ${at}`).toBeLessThanOrEqual(0);
      }
      const byKeyString = [...keys].sort(
        (a, b) => (ascending ? 1 : -1) * Buffer.compare(encodeKeyString([a]), encodeKeyString([b])),
      );
      expect(
        byKeyString.map((key) => encodeKeyString([key])),
        where,
      ).toEqual(keys.map((key) => encodeKeyString([key])));
    }
  });
});
