import type { StartRequest } from '@convoy/api/contract/start-request';
import { describe, expect, it } from 'vitest';
import { compileNamespaceFilter, parseDocumentFilter } from '../../../src/catalog/namespace-filter.js';

type Selectors = StartRequest['includeNamespaces'];

const filterOf = (include: Selectors, exclude: Selectors = []) =>
  compileNamespaceFilter({ includeNamespaces: include, excludeNamespaces: exclude });

describe('compileNamespaceFilter', () => {
  it('includes everything but reserved names when nothing is selected', () => {
    const filter = filterOf([]);
    expect(filter.includes('shop', 'orders')).toBe(true);
    expect(filter.includes('shop', 'system.js')).toBe(true);
    for (const database of ['admin', 'config', 'local', 'convoy_metadata'])
      expect(filter.includes(database, 'c')).toBe(false);
    const reserved = [
      'system.views',
      'system.profile',
      'system.buckets.resharding.0123abcd-ef01',
      'system.buckets.tmp.agg_out.1',
    ];
    for (const name of reserved) expect(filter.includes('shop', name)).toBe(false);
  });

  it('includes the buckets of a time series with it, under its name', () => {
    expect(filterOf([]).includes('shop', 'system.buckets.t')).toBe(true);
    expect(filterOf([]).includes('shop', 'system.buckets.resharding.metrics')).toBe(true);
    const named = filterOf([{ database: 'shop', collections: ['t'] }]);
    expect(named.includes('shop', 'system.buckets.t')).toBe(true);
    expect(named.includes('shop', 'system.buckets.u')).toBe(false);
    expect(filterOf([{ database: 'shop', collections: ['system.buckets.t'] }]).includes('shop', 't')).toBe(false);
  });

  it('never includes reserved databases, not even by name', () => {
    expect(filterOf([{ database: 'admin' }]).includes('admin', 'c')).toBe(false);
  });

  it.each([
    '__mdb_internal_atlas',
    '__mdb_internal_search',
    '__mdb_internal_mongosync',
    'mongosync_reserved_for_internal_use',
  ])('never includes the internal database %s, not even by name', (database) => {
    expect(filterOf([]).includes(database, 'c')).toBe(false);
    expect(filterOf([{ database }]).mayInclude(database)).toBe(false);
  });

  it('includes databases whose names only resemble internal ones', () => {
    for (const database of ['mdb_internal', 'shop__mdb_internal', 'mongosync'])
      expect(filterOf([]).includes(database, 'c')).toBe(true);
  });

  it('excludes databases that are not listed, and includes all of one listed without selector', () => {
    const filter = filterOf([{ database: 'shop' }]);
    expect(filter.includes('shop', 'anything')).toBe(true);
    expect(filter.includes('Shop', 'anything')).toBe(false);
    expect(filter.mayInclude('other')).toBe(false);
  });

  it('combines collections and collectionsRegex of one element', () => {
    const filter = filterOf([
      { database: 'shop', collections: ['orders'], collectionsRegex: { pattern: '^log_', options: '' } },
    ]);
    expect(['orders', 'log_1', 'orders2', 'alog_'].map((name) => filter.includes('shop', name))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('matches patterns anywhere unless they are anchored', () => {
    const filter = filterOf([{ databaseRegex: { pattern: 'hop', options: '' } }]);
    expect(filter.includes('shop', 'c')).toBe(true);
    expect(filter.includes('shp', 'c')).toBe(false);
  });

  it('supports the option letters i, m, s and u', () => {
    const matches = (pattern: string, options: string, name: string): boolean =>
      filterOf([{ database: 'd', collectionsRegex: { pattern, options } }]).includes('d', name);
    expect(matches('^ORD', 'i', 'orders')).toBe(true);
    expect(matches('^ORD', '', 'orders')).toBe(false);
    expect(matches('^b$', 'm', 'a\nb')).toBe(true);
    expect(matches('^a.b$', 's', 'a\nb')).toBe(true);
    expect(matches('^a.b$', 'u', 'a\nb')).toBe(false);
  });

  it('applies excludes after includes', () => {
    const filter = filterOf(
      [{ database: 'shop' }],
      [{ databaseRegex: { pattern: '.*', options: '' }, collections: ['secret'] }],
    );
    expect(filter.includes('shop', 'orders')).toBe(true);
    expect(filter.includes('shop', 'secret')).toBe(false);
  });

  it('refuses what the linear-time engine does not support', () => {
    for (const [pattern, options] of [
      ['(a)\\1', ''],
      ['(?<=a)b', ''],
      ['(?=a)', ''],
      ['(', ''],
      ['a', 'x'],
    ] as const) {
      expect(() => filterOf([{ databaseRegex: { pattern, options } }]), `${pattern} ${options}`).toThrow(
        expect.objectContaining({ error: 'filterPatternInvalid' }),
      );
    }
  });

  it('matches patterns in linear time on which backtracking engines explode', () => {
    const filter = filterOf([{ database: 'd', collectionsRegex: { pattern: '^(a+)+$', options: '' } }]);
    expect(filter.includes('d', `${'a'.repeat(5_000)}b`)).toBe(false);
  });
});

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
