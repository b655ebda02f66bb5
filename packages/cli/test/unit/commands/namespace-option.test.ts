import { InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { collect } from '@convoy/cli/commands/namespace-option';

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
