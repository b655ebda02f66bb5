import { InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { collect, collectRemap } from '@convoy/cli/commands/namespace-option';

describe('a namespace flag', () => {
  test.each([
    ['shop', { database: 'shop' }],
    ['shop.orders', { database: 'shop', collections: ['orders'] }],
    ['shop.orders.2024', { database: 'shop', collections: ['orders.2024'] }],
    ['shop.orders,items', { database: 'shop', collections: ['orders,items'] }],
    ['{"database": "[x"}', { database: '[x' }],
  ])('%s selects %j', (text, selector) => {
    expect(collect(text)).toEqual([selector]);
  });

  test('adds to the flags before it, also as JSON', () => {
    const selectors = ['shop.orders', '[{"database": "a"}, {"databaseRegex": {"pattern": "^b"}}]', 'shop.items'].reduce(
      (before, text) => collect(text, before),
      collect('crm'),
    );
    expect(selectors).toEqual([
      { database: 'crm' },
      { database: 'shop', collections: ['orders'] },
      { database: 'a' },
      { databaseRegex: { pattern: '^b' } },
      { database: 'shop', collections: ['items'] },
    ]);
    const request = parseStartRequest({ source: 'cluster0', destination: 'cluster1', includeNamespaces: selectors });
    expect(request.includeNamespaces).toHaveLength(5);
  });

  test.each(['', '.orders', 'sh op', 'a/b', '$x.y', 'shop.', 'shop.*', '[{', '@/nowhere.json'])(
    'refuses %j',
    (text) => {
      expect(() => collect(text)).toThrow(InvalidArgumentError);
    },
  );
});

describe('a flag for other names', () => {
  test('maps databases and collections, also as JSON, and adds to the flags before it', () => {
    const json = '{"from": {"database": "a=b"}, "to": {"database": "ab"}}';
    const elements = ['shop.orders.2024=store.orders', json].reduce(
      (before, text) => collectRemap(text, before),
      collectRemap('crm=people'),
    );
    expect(elements).toEqual([
      { from: { database: 'crm' }, to: { database: 'people' } },
      { from: { database: 'shop', collection: 'orders.2024' }, to: { database: 'store', collection: 'orders' } },
      { from: { database: 'a=b' }, to: { database: 'ab' } },
    ]);
    const request = parseStartRequest({ source: 'cluster0', destination: 'cluster1', namespaceRemap: elements });
    expect(request.namespaceRemap).toHaveLength(3);
  });

  test.each(['shop', 'a=b=c', '=b', 'a=', 'shop.*=store.*', 'sh op=shop'])('refuses %j', (text) => {
    expect(() => collectRemap(text)).toThrow(InvalidArgumentError);
  });
});
