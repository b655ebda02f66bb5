import { expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { follow } from '@convoy/cli/environment/fleet/follow';

/** Time limit of conditions that hold immediately or never. */
const limit_ms = 20_000;

const replies = (values: readonly (number | Error)[]) => {
  const rest = [...values];
  return () => {
    const next = rest.shift();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next ?? 0);
  };
};

test('shows every reply and returns the first match', async () => {
  const shown: number[] = [];
  const reply = await follow(replies([1, 2, 3]), {
    what: 'two',
    limit_ms,
    until: (value) => value === 2,
    show: (value) => shown.push(value),
  });
  expect(reply).toBe(2);
  expect(shown).toEqual([1, 2]);
});

test('waits out temporary failures', async () => {
  const read = replies([new ConvoyError('notReady'), new ConvoyError('instanceUnreachable'), 1]);
  expect(await follow(read, { what: 'one', limit_ms, until: (value) => value === 1 })).toBe(1);
});

test('rejects with the failure of the migration', async () => {
  const read = replies([1, new ConvoyError('oplogHistoryLost')]);
  await expect(follow(read, { what: 'never', limit_ms, until: () => false })).rejects.toMatchObject({
    error: 'oplogHistoryLost',
  });
});

test('names the condition that was not met in time', async () => {
  await expect(follow(replies([1]), { what: 'pigs fly', limit_ms: 0, until: () => false })).rejects.toThrow(
    'Not within 0 s: pigs fly.',
  );
});

test('ends on an interruption', async () => {
  const reason = new Error('enough');
  const read = follow(replies([]), { what: 'never', limit_ms, until: () => false, signal: AbortSignal.abort(reason) });
  await expect(read).rejects.toMatchObject({ name: 'AbortError', cause: reason });
});
