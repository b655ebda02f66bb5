import { expect, it } from 'vitest';
import { ShareStream } from '../../../../src/lifecycle/share/share-stream.js';
import { ByteBudget } from '../../../../src/store/byte-budget.js';
import { Signalled } from '../../../../src/store/signalled.js';
import { never, settled } from '../../model/parts.js';

it('who waits for a time is told when the bound is reached, at which the stream is not read', async () => {
  const router = { position: 5n, moved: new Signalled() };
  const budget = new ByteBudget(100);
  const runtime = { retrying: () => Promise.resolve() };
  const stream = new ShareStream({ runtime } as never, { router, budget } as never, 1n);
  const answers: boolean[] = [];
  const ask = (): Promise<void> => stream.untilRoutedOrFull(9n, never).then((routed) => void answers.push(routed));
  const asked = ask();
  router.moved.changed();
  await settled();
  expect(answers).toEqual([]);
  budget.take(100);
  router.moved.changed();
  await asked;
  router.position = 9n;
  await ask();
  expect(answers).toEqual([false, true]);
});
