import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { expect, it } from 'vitest';
import { recordFailure } from '../../../../src/lifecycle/run/record-failure.js';
import { never } from '../../model/parts.js';

/** @returns the failures that are recorded for the migration, and the one that ends the process */
async function meet(
  thrown: unknown,
  isReplaced: () => Promise<boolean>,
): Promise<{ recorded: string[]; ends: string }> {
  const recorded: string[] = [];
  const records = { fail: ({ error }: { error: string }) => Promise.resolve(void recorded.push(error)) };
  const { error } = await recordFailure({ records, isReplaced }, thrown, never);
  return { recorded, ends: error };
}

it('a process that was replaced ends with what it meets, and the migration goes on', async () => {
  const replaced = (): Promise<boolean> => Promise.resolve(true);
  expect(await meet(new ConvoyError('retriesExhausted'), replaced)).toEqual({ recorded: [], ends: 'staleEpoch' });
  expect(await meet(new ConvoyError('staleEpoch'), replaced)).toEqual({ recorded: [], ends: 'staleEpoch' });
});

it('the failure of a process that has its shares is that of the migration', async () => {
  const owns = (): Promise<boolean> => Promise.resolve(false);
  expect(await meet(new ConvoyError('writeRefused'), owns)).toEqual({
    recorded: ['writeRefused'],
    ends: 'writeRefused',
  });
  expect(await meet(new TypeError('of ours'), owns)).toEqual({ recorded: ['internalError'], ends: 'internalError' });
});

it('a failure is recorded where nobody can say whether the shares were taken over', async () => {
  expect(await meet(new ConvoyError('destinationChanged'), () => Promise.reject(new Error('unreachable')))).toEqual({
    recorded: ['destinationChanged'],
    ends: 'destinationChanged',
  });
});
