import { describe, expect, it } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { clusters, expectInvalid, failureOf } from './failures.js';

const filters = ['includeNamespaces', 'excludeNamespaces'] as const;

describe.each(filters)('%s', (filter) => {
  function parse(...selectors: unknown[]) {
    return parseStartRequest({ ...clusters, [filter]: selectors })[filter];
  }

  it('takes a database alone', () => {
    expect(parse({ database: 'sales' })).toEqual([{ database: 'sales' }]);
  });

  it('takes a database with collections', () => {
    expect(parse({ database: 'sales', collections: ['orders'] })).toEqual([
      { database: 'sales', collections: ['orders'] },
    ]);
  });

  it('takes a database with collectionsRegex and its options', () => {
    const collectionsRegex = { pattern: '^accounts_.+?$', options: 'ms' };
    expect(parse({ database: 'sales', collectionsRegex })).toEqual([{ database: 'sales', collectionsRegex }]);
  });

  it('takes collectionsRegex without options', () => {
    expect(parse({ database: 'sales', collectionsRegex: { pattern: 'a' } })).toEqual([
      { database: 'sales', collectionsRegex: { pattern: 'a', options: '' } },
    ]);
  });

  it('takes collections and collectionsRegex in one element', () => {
    const selector = { database: 'sales', collections: ['a'], collectionsRegex: { pattern: 'b', options: 'i' } };
    expect(parse(selector)).toEqual([selector]);
  });

  it('takes databaseRegex in place of database', () => {
    const selector = { databaseRegex: { pattern: '^s', options: '' }, collections: ['a'] };
    expect(parse(selector)).toEqual([selector]);
  });

  it('takes an empty list, which filters nothing', () => {
    expect(parse()).toEqual([]);
  });

  it('needs database or databaseRegex', () => {
    expectInvalid(
      { [filter]: [{ collections: ['a'] }] },
      `${filter}[0].database: is required unless databaseRegex is given`,
    );
  });

  it('refuses database together with databaseRegex', () => {
    expectInvalid(
      { [filter]: [{ database: 'a', databaseRegex: { pattern: 'a' } }] },
      `${filter}[0].databaseRegex: cannot be given together with database`,
    );
  });

  it('needs a pattern in collectionsRegex and databaseRegex', () => {
    expectInvalid(
      { [filter]: [{ database: 'a', collectionsRegex: {} }] },
      `${filter}[0].collectionsRegex.pattern: is required`,
    );
    expectInvalid({ [filter]: [{ databaseRegex: {} }] }, `${filter}[0].databaseRegex.pattern: is required`);
  });

  it.each(['g', 'imsy', 'I', ' ', 'i,m', 'i\n'])('refuses the option letters %j', (options) => {
    expectInvalid(
      { [filter]: [{ database: 'a', collectionsRegex: { pattern: 'a', options } }] },
      `${filter}[0].collectionsRegex.options: takes the letters i, m, s, x and u only`,
    );
  });

  it('brings option letters into one order and drops u', () => {
    expect(parse({ databaseRegex: { pattern: 'a', options: 'xusmmi' } })).toEqual([
      { databaseRegex: { pattern: 'a', options: 'imsx' } },
    ]);
  });

  it.each([
    { database: 'a', collection: 'b' },
    { database: 'a', collectionRegex: { pattern: 'a' } },
    { database: 'a', collectionsRegex: { pattern: 'a', flags: 'i' } },
  ])('refuses unknown fields: %j', (selector) => {
    expect(failureOf(() => parse(selector)).errorDescription).toMatch(/: unknown field$/);
  });

  it.each([
    'sales',
    null,
    [],
    { database: 1 },
    { database: '' },
    { database: 'a', collections: 'b' },
    { database: 'a', collections: [1] },
    { database: 'a', collections: [''] },
    { database: 'a', collections: null },
    { database: 'a', collectionsRegex: 'b' },
    { database: 'a', collectionsRegex: { pattern: '' } },
    { database: 'a', collectionsRegex: { pattern: 1 } },
    { database: 'a', collectionsRegex: { pattern: 'a', options: null } },
  ])('refuses wrong types and empty names: %j', (selector) => {
    const error = failureOf(() => parse(selector));
    expect(error.error).toBe('invalidRequest');
    expect(error.errorDescription).toContain(`${filter}[0]`);
  });

  it('refuses an empty list of collections', () => {
    expectInvalid(
      { [filter]: [{ database: 'a', collections: [] }] },
      `${filter}[0].collections: must name at least one collection, leave it out to select all`,
    );
  });

  it.each([{}, 'sales', null, { database: 'a' }])('is an array: %j', (value) => {
    expect(failureOf(() => parseStartRequest({ ...clusters, [filter]: value })).errorDescription).toMatch(
      new RegExp(`^${filter}: .*expected array`),
    );
  });
});
