import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { expect, it } from 'vitest';
import { recordFailure } from '../../../../src/lifecycle/instance/own-tasks.js';
import { never } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { MigrationRecords } from '../../../../src/store/migration-record.js';

/** @returns the failures recorded for the migration, and the one that ends the process */
async function meet(
  thrown: unknown,
  isReplaced: () => Promise<boolean>,
): Promise<{ recorded: string[]; ends: string }> {
  const recorded: string[] = [];
  const records = { fail: ({ error }: { error: string }) => Promise.resolve(void recorded.push(error)) };
  const { error } = await recordFailure({ records: only<MigrationRecords>(records), isReplaced }, thrown, never);
  return { recorded, ends: error };
}

it('a replaced process ends with its failure, and the migration continues', async () => {
  const replaced = (): Promise<boolean> => Promise.resolve(true);
  expect(await meet(new ConvoyError('retriesExhausted'), replaced)).toEqual({ recorded: [], ends: 'staleEpoch' });
  expect(await meet(new ConvoyError('staleEpoch'), replaced)).toEqual({ recorded: [], ends: 'staleEpoch' });
});

it('the failure of a process that owns its tasks is that of the migration', async () => {
  const owns = (): Promise<boolean> => Promise.resolve(false);
  expect(await meet(new ConvoyError('writeRefused'), owns)).toEqual({
    recorded: ['writeRefused'],
    ends: 'writeRefused',
  });
  expect(await meet(new TypeError('of ours'), owns)).toEqual({ recorded: ['internalError'], ends: 'internalError' });
});

it('a failure is recorded where nobody can say whether the tasks have another owner', async () => {
  expect(await meet(new ConvoyError('destinationChanged'), () => Promise.reject(new Error('unreachable')))).toEqual({
    recorded: ['destinationChanged'],
    ends: 'destinationChanged',
  });
});

it('a process of a migration that was cleaned up fails no later one', async () => {
  const stale = new ConvoyError('staleEpoch');
  expect(await meet(new ConvoyError('retriesExhausted'), () => Promise.reject(stale))).toEqual({
    recorded: [],
    ends: 'staleEpoch',
  });
});
