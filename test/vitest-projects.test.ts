import { expect, test } from 'vitest';
import config from '../vitest.config.js';

test('unit, integration and end-to-end tests can run in one call: vitest refuses projects of one group with different numbers of workers', () => {
  const projects = (config.test?.projects ?? []) as { test: { name: string; sequence?: { groupOrder?: number } } }[];
  const orders = projects.map(({ test: { sequence } }) => sequence?.groupOrder ?? 0);
  expect(orders).toEqual([0, 1, 2]);
});
