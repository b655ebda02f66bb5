import { describe, expect, it } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { clusters, expectInvalid, failureOf } from './failures.js';

function entry(...key: unknown[]) {
  return { database: 'sales', collection: 'orders', shardCollection: { key } };
}

function parse(...shardingEntries: unknown[]) {
  return parseStartRequest({ ...clusters, sharding: { shardingEntries } }).sharding?.shardingEntries;
}

describe('sharding', () => {
  it('needs shardingEntries', () => {
    expectInvalid({ sharding: {} }, 'sharding.shardingEntries: is required');
  });

  it('takes an empty array of entries', () => {
    expect(parse()).toEqual([]);
  });

  it('takes createSupportingIndexes', () => {
    const sharding = { createSupportingIndexes: true, shardingEntries: [entry({ region: 1 })] };
    expect(parseStartRequest({ ...clusters, sharding }).sharding).toEqual(sharding);
  });

  it.each([{ createSupportingIndexes: 'yes' }, { shardingEntries: {} }, { shardingEntries: [], zones: [] }])(
    'refuses wrong types and unknown fields: %j',
    (fields) => {
      const body = { ...clusters, sharding: { shardingEntries: [], ...fields } };
      expect(failureOf(() => parseStartRequest(body)).errorDescription).toMatch(/^sharding\./);
    },
  );

  it.each([null, [], true])('is a document: %j', (sharding) => {
    expect(failureOf(() => parseStartRequest({ ...clusters, sharding })).errorDescription).toMatch(/^sharding: /);
  });

  it('needs database, collection and shardCollection.key in every entry', () => {
    expectInvalid(
      { sharding: { shardingEntries: [{}, { database: 'a', collection: 'b', shardCollection: {} }] } },
      'sharding.shardingEntries[0].database: is required',
      'sharding.shardingEntries[0].collection: is required',
      'sharding.shardingEntries[0].shardCollection: is required',
      'sharding.shardingEntries[1].shardCollection.key: is required',
    );
  });

  it('refuses unknown fields of an entry and of shardCollection', () => {
    expectInvalid(
      {
        sharding: {
          shardingEntries: [{ ...entry({ a: 1 }), unique: true, shardCollection: { key: [{ a: 1 }], unique: true } }],
        },
      },
      'sharding.shardingEntries[0].unique: unknown field',
      'sharding.shardingEntries[0].shardCollection.unique: unknown field',
    );
  });

  it('refuses a collection that is named twice', () => {
    expectInvalid(
      { sharding: { shardingEntries: [entry({ a: 1 }), entry({ a: 1 })] } },
      'sharding.shardingEntries[1]: names a collection a second time',
    );
  });
});

describe('shard key', () => {
  it.each([
    [[{ a: 1 }]],
    [[{ a: 'hashed' }]],
    [[{ b: 1 }, { a: 1 }]],
    [[{ region: 1 }, { _id: 'hashed' }]],
    [[{ 'address.city': 1 }]],
    [[{ a$b: 1 }]],
  ])('may be %j, its fields kept in order', (key) => {
    expect(parse(entry(...key))).toEqual([entry(...key)]);
  });

  it('takes 1.0 for 1, as JSON does', () => {
    expect(
      parse(JSON.parse('{"database":"sales","collection":"orders","shardCollection":{"key":[{"a":1.0}]}}')),
    ).toEqual([entry({ a: 1 })]);
  });

  it.each([-1, 0, 2, '1', 'Hashed', 'text', true, null, {}])('values are 1 and "hashed" only, not %j', (value) => {
    expectInvalid(
      { sharding: { shardingEntries: [entry({ a: value })] } },
      'sharding.shardingEntries[0].shardCollection.key[0].a: must be 1 or "hashed"',
    );
  });

  it.each([[{}], [{ a: 1, b: 1 }]])('each element has exactly one field, unlike %j', (element) => {
    expect(failureOf(() => parse(entry(element))).errorDescription).toMatch(
      /key\[0\]: must have exactly one field, not [02]$/,
    );
  });

  it.each(['', '.', 'a.', '.a', 'a..b', '$a', 'a.$b', 'a\0'])('field names are valid paths, unlike %j', (field) => {
    expect(failureOf(() => parse(entry({ [field]: 1 }))).errorDescription).toMatch(
      /key\[0\]: must have a valid field path/,
    );
  });

  it('refuses __proto__ as a field', () => {
    const body: unknown = JSON.parse(
      '{"database":"sales","collection":"orders","shardCollection":{"key":[{"__proto__":1}]}}',
    );
    expect(failureOf(() => parse(body)).error).toBe('invalidRequest');
  });

  it.each([
    [[], 'must have at least one field'],
    [[{ a: 1 }, { a: 1 }], 'must not name a field twice'],
    [[{ a: 'hashed' }, { b: 'hashed' }], 'must not have more than one hashed field'],
    [Array.from({ length: 33 }, (_, position) => ({ [`f${position}`]: 1 })), 'must not have more than 32 fields'],
  ])('refuses %j', (key, problem) => {
    expectInvalid(
      { sharding: { shardingEntries: [entry(...key)] } },
      `sharding.shardingEntries[0].shardCollection.key: ${problem}`,
    );
  });

  it.each([{ a: 1 }, 'a', null])('is an array, not %j', (key) => {
    const shardingEntries = [{ database: 'a', collection: 'b', shardCollection: { key } }];
    expect(failureOf(() => parse(...shardingEntries)).errorDescription).toMatch(
      /shardCollection\.key: .*expected array/,
    );
  });
});
