import { expect, it } from 'vitest';
import { parseDocumentFilter } from '../../../src/catalog/document-filter.js';

const parsed = (filter: string | Record<string, unknown>) =>
  parseDocumentFilter({ database: 'shop', collection: 'orders', filter });

function refusalOf(filter: string | Record<string, unknown>): string {
  try {
    parsed(filter);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('accepted');
}

it.each<[Record<string, unknown>]>([
  [{}],
  [{ region: 'EU', 'address.city': { $in: ['Bern', null] } }],
  [{ $or: [{ total: { $gte: 10, $lt: 20 } }, { $nor: [{ tags: { $size: 2 } }] }] }],
  [{ tags: { $elemMatch: { a: { $exists: true }, b: { $type: 'string' } } } }],
  [{ name: { $regex: '^a' } }],
  [{ $jsonSchema: { required: ['region'], properties: { '1': {}, a: { $where: 1 } } } }],
  [{ place: { $geoWithin: { $centerSphere: [[8, 47], 0.1] } } }],
  [{ '2024': 1 }],
])('takes %j', (filter) => {
  expect(Object.keys(parsed(filter))).toEqual(Object.keys(filter));
});

it('reads Extended JSON, as an object or as text', () => {
  const filter = { at: { $gte: { $date: '2026-01-01T00:00:00Z' } } };
  for (const given of [filter, JSON.stringify(filter)])
    expect(parsed(given)).toEqual({ at: { $gte: new Date('2026-01-01T00:00:00Z') } });
});

it.each<[string | Record<string, unknown>, RegExp]>([
  [{ $where: 'true' }, /\$where/],
  [{ $and: [{ a: 1 }, { b: { $not: { $near: [1, 2] } } }] }, /\$near/],
  [{ $expr: { $lt: ['$at', '$$NOW'] } }, /\$expr/],
  [{ $text: { $search: 'a' } }, /\$text/],
  [{ $sampleRate: 0.5 }, /\$sampleRate/],
  [{ a: { b: 1, '7': 2 } }, /the field 7/],
  ['[1]', /is not a query/],
  ['no JSON', /is not Extended JSON/],
  ['7', /is not a query/],
])('refuses %j', (filter, says) => {
  expect(refusalOf(filter)).toMatch(says);
  expect(refusalOf(filter)).toMatch(/shop\.orders/);
});

it('refuses a query that is nested too deeply', () => {
  let nested: Record<string, unknown> = { a: 1 };
  for (let level = 0; level < 200; level += 1) nested = { $and: [nested] };
  expect(refusalOf(nested)).toMatch(/levels/);
});
