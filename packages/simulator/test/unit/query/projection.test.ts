import { expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import { compileProjection } from '../../../src/query/projection.js';
import { doc } from '../json.js';

type Json = Record<string, unknown>;

it.each<[Json, Json, Json]>([
  [{ a: 1 }, { _id: 1, a: 2, b: 3 }, { _id: 1, a: 2 }],
  [{ a: 1, _id: 0 }, { _id: 1, b: 1, a: 2 }, { a: 2 }],
  [{ _id: 1 }, { _id: 1, a: 2 }, { _id: 1 }],
  [{ _id: 0 }, { _id: 1, a: 2 }, { a: 2 }],
  [{ a: 0 }, { _id: 1, a: 2, b: 3 }, { _id: 1, b: 3 }],
  [{ 'a.b': 1 }, { _id: 1, a: { b: 1, c: 2 }, d: 1 }, { _id: 1, a: { b: 1 } }],
  [{ 'a.b': 1 }, { _id: 1, a: [{ b: 1, c: 2 }, 5, { c: 1 }] }, { _id: 1, a: [{ b: 1 }, {}] }],
  [{ 'a.b': 0 }, { _id: 1, a: [{ b: 1, c: 2 }, 5] }, { _id: 1, a: [{ c: 2 }, 5] }],
  [{ a: { b: 1 } }, { _id: 1, a: { b: 1, c: 2 } }, { _id: 1, a: { b: 1 } }],
  [{ a: { $slice: 1 } }, { _id: 1, a: [1, 2], b: 1 }, { _id: 1, a: [1], b: 1 }],
  [{ a: { $slice: [-2, 1] } }, { _id: 1, a: [1, 2, 3] }, { _id: 1, a: [2] }],
  [{ a: { $elemMatch: { b: 2 } } }, { _id: 1, a: [{ b: 1 }, { b: 2 }], c: 1 }, { _id: 1, a: [{ b: 2 }] }],
  [{ a: { $elemMatch: { $gt: 1 } } }, { _id: 1, a: [[2]], c: 1 }, { _id: 1 }],
  [
    { a: { $elemMatch: { $gt: 1 } }, b: 1 },
    { _id: 1, a: [2], b: 1 },
    { _id: 1, b: 1, a: [2] },
  ],
  [{ 'a.b': { $literal: 3 } }, { _id: 1, a: [{}, -2, [3]] }, { _id: 1, a: [{ b: 3 }, { b: 3 }, [{ b: 3 }]] }],
  [{ 'a.b': '$c' }, { _id: 1 }, { _id: 1, a: {} }],
  [{ s: { $add: ['$a', '$b'] } }, { _id: 1, a: 1, b: 2 }, { _id: 1, s: 3 }],
  [
    { a: 1, c: '$b' },
    { _id: 1, a: 1, b: 2 },
    { _id: 1, a: 1, c: 2 },
  ],
])('%j of %j', (spec, before, after) => {
  expect(JSON.stringify(toExtendedJson(compileProjection(doc(spec))(doc(before))))).toBe(
    JSON.stringify(toExtendedJson(doc(after))),
  );
});

it('refuses the element that the query found by name', () => {
  expect(() => compileProjection(doc({ 'a.$': 1 }))).toThrow(expect.objectContaining({ code: 115 }) as Error);
});

it('refuses a mixture', () => {
  expect(() => compileProjection(doc({ a: 1, b: 0 }))).toThrow(expect.objectContaining({ code: 31254 }) as Error);
  expect(() => compileProjection(doc({ a: 0, b: 1 }))).toThrow(expect.objectContaining({ code: 31253 }) as Error);
});
