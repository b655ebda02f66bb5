import { expect, test } from 'vitest';
import { fleetRows } from '../../../src/dashboard/views/fleet-rows.js';
import { stagedInstance, stagedMessage } from './staged-message.js';

test('a large fleet shows instances that need attention first, a small one keeps its order', () => {
  const idsOf = (size: number): string[] => {
    const staged = Array.from({ length: size }, (_, at) => stagedInstance(`shard${at}`));
    staged[5] = stagedInstance('shard5', { problems: ['silent'] });
    staged[7] = stagedInstance('shard7', { error: 'oplogHistoryLost' });
    const { rows } = fleetRows(
      stagedMessage({}, { instances: Object.fromEntries(staged.map((one) => [one.id, one])) }),
    );
    return rows.map(({ id }) => id);
  };
  expect(idsOf(8)).toEqual(Array.from({ length: 8 }, (_, at) => `shard${at}`));
  expect(idsOf(256).slice(0, 3)).toEqual(['shard7', 'shard5', 'shard0']);
  expect(new Set(idsOf(256)).size).toBe(256);
});
