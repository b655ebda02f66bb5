import type { Inventory, InventoryRow } from '@convoy/api/contract/inventory';
import { expect, it } from 'vitest';
import { inventoryCells, inventoryParts, inventorySummary } from '../../../src/dashboard/views/inventory-view.js';

const row = (name: string, action: InventoryRow['action']): InventoryRow => ({
  kind: 'users',
  name,
  source: 'roles desk@shop',
  destination: null,
  action,
  description: 'What to do.',
});

const inventory: Inventory = {
  at_ms: 0,
  source: 'cluster0',
  destination: 'cluster1',
  carry: [],
  rows: [row('clerk@shop', 'leftBehind')],
  unlisted: 0,
  reverse: null,
};

it('the table of a reverse is about the clusters in their other roles, and absent where none is possible', () => {
  expect(inventoryParts(inventory).back).toBeNull();
  const reverse = { rows: [row('late@shop', 'carried'), row('clerk@shop', 'kept')], unlisted: 3 };
  const { forward, back } = inventoryParts({ ...inventory, reverse });
  expect(forward).toMatchObject({ source: 'cluster0', destination: 'cluster1' });
  expect(inventorySummary(forward.table)).toBe('▲ 1 left behind.');
  expect(back).toEqual({ table: reverse, source: 'cluster1', destination: 'cluster0' });
  expect(inventorySummary(reverse)).toBe(
    '✓ Nothing that is known of stays behind, 1 carried at the commit, 3 without a row.',
  );
});

it('a cell without content has a dash', () => {
  expect(inventoryCells({ ...row('', 'notReadable'), source: null })).toEqual({
    kind: 'Users',
    name: '–',
    source: '–',
    destination: '–',
    action: 'not readable',
    description: 'What to do.',
  });
});
