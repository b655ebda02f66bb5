import { expect, test } from 'vitest';
import { optionViews } from '../../../src/dashboard/views/options-view.js';
import { copyEndText, startedText } from '../../../src/dashboard/views/times-text.js';

const startedAt = '2026-01-31T12:00:00.000Z';
const now_ms = Date.parse(startedAt) + 90 * 60_000;

test('a running migration has its start and how long ago that was', () => {
  expect(startedText({ state: 'RUNNING', startedAt }, now_ms)).toMatch(/31 Jan.*, 90 min ago$/);
  expect(startedText({ state: 'COMMITTED', startedAt }, now_ms)).not.toContain('ago');
  expect(startedText({ state: 'IDLE', startedAt: null }, now_ms)).toBe('');
});

test('the end of the copy is a time of day, while one is known', () => {
  expect(copyEndText({ state: 'RUNNING', startedAt, copyEndsAt: startedAt })).toMatch(/^about \d\d:\d\d$/);
  expect(copyEndText({ state: 'RUNNING', startedAt, copyEndsAt: null })).toBe('');
});

test('options are words where that is possible', () => {
  const options = {
    source: 'cluster0',
    reversible: true,
    verification: { enabled: false },
    includeNamespaces: [],
    excludeNamespaces: [
      { database: 'crm' },
      { database: 'shop', collections: ['orders', 'a.b'], collectionsRegex: { pattern: '^tmp', options: 'i' } },
      { databaseRegex: { pattern: '_old$', options: '' } },
    ],
    sharding: {
      createSupportingIndexes: true,
      shardingEntries: [
        { database: 'shop', collection: 'orders', shardCollection: { key: [{ region: 1 }, { _id: 'hashed' }] } },
      ],
    },
  };
  expect(optionViews(options)).toEqual([
    { name: 'source', value: 'cluster0' },
    { name: 'reversible', value: 'yes' },
    { name: 'verification', value: 'no' },
    { name: 'includeNamespaces', value: 'everything' },
    { name: 'excludeNamespaces', value: 'crm, shop.orders, shop.a.b, shop./^tmp/i, /_old$/' },
    { name: 'sharding', value: 'shop.orders by {"region":1,"_id":"hashed"}, with supporting indexes' },
  ]);
});
