import { expect, test } from 'vitest';
import type { NamespacesPage } from '@convoy/api/client/contract-client';
import { collectionLines } from '../../../src/commands/progress-command.js';

const done = { waiting: 0, starting: 0, copying: 0, done: 2 };
const page: NamespacesPage = {
  success: true,
  total: 3,
  matching: 2,
  offset: 0,
  rows: [
    {
      namespace: 'shop.orders',
      instances: 2,
      totalBytes: 4_000_000,
      copiedBytes: 1_000_000,
      copiedDocuments: 1_500,
      partitions: { ...done, copying: 1 },
    },
    { namespace: 'a.b', instances: 1, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0, partitions: done },
  ],
  others: { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 },
};

test('collections are a table with aligned columns', () => {
  expect(collectionLines(page)).toEqual([
    'collection    copied       of    part  documents',
    'shop.orders  1.00 MB  4.00 MB  25.0 %      1,500',
    'a.b              0 B      0 B  copied          0',
    '2 of 2 shown, 3 in total.',
  ]);
});

test('the order of a copy is said with its reason where an option asks for it', () => {
  const [first] = page.rows;
  if (first === undefined) throw new Error('the page has rows');
  const description = 'Copied in natural order: its _ids are random over its records.';
  const rows = [{ ...first, copyOrders: [{ order: 'natural' as const, reason: 'randomIds' as const, description }] }];
  expect(collectionLines({ ...page, rows }).at(-2)).toBe(`shop.orders: ${description}`);
});

test('no collection, or none that matches, is said in words', () => {
  expect(collectionLines({ ...page, total: 0, rows: [] })).toEqual(['No collections yet.']);
  expect(collectionLines({ ...page, matching: 0, rows: [] })).toEqual(['None of 3 collections matches.']);
});
