import { expect, it } from 'vitest';
import { matchingAll } from '../../../src/cluster/matching-all.js';

it('joins the queries that are given', () => {
  expect(matchingAll()).toEqual({});
  expect(matchingAll(undefined, undefined)).toEqual({});
  expect(matchingAll(undefined, { a: 1 })).toEqual({ filter: { a: 1 } });
  expect(matchingAll({ a: 1 }, { b: 1 })).toEqual({ filter: { $and: [{ a: 1 }, { b: 1 }] } });
});
