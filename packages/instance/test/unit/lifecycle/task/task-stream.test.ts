import { expect, it } from 'vitest';
import { TaskStream } from '../../../../src/lifecycle/task/task-stream.js';
import { ByteBudget } from '../../../../src/store/byte-budget.js';
import { Condition } from '../../../../src/store/condition.js';
import { never, settled } from '../../model/parts.js';

it('waiting for a time ends when the buffer bound is reached, at which the stream is not read', async () => {
  const dispatcher = { position: 5n, moved: new Condition() };
  const budget = new ByteBudget(100);
  const runtime = { retrying: () => Promise.resolve() };
  const stream = new TaskStream({ runtime } as never, dispatcher as never, null as never, budget, 1n);
  const answers: boolean[] = [];
  const ask = (): Promise<void> => stream.untilRoutedOrFull(9n, never).then((routed) => void answers.push(routed));
  const asked = ask();
  dispatcher.moved.changed();
  await settled();
  expect(answers).toEqual([]);
  budget.take(100);
  dispatcher.moved.changed();
  await asked;
  dispatcher.position = 9n;
  await ask();
  expect(answers).toEqual([false, true]);
});
