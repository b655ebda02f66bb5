import { expect, test } from 'vitest';
import { clockText } from '../../../src/dashboard/views/quantity.js';
import { stateView } from '../../../src/dashboard/views/state-view.js';
import { stagedMessage } from './staged-message.js';

test('a commit and a reverse say which step they are in, and since when', () => {
  const since = new Date(60_000).toISOString();
  const description = 'Instances apply the last changes of the source: 1 of 2 are done.';
  const currentStep = { name: 'applyLastChanges' as const, number: 3, count: 9, description, since };
  const committing = stagedMessage({ state: 'COMMITTING', percent: 100, currentStep }, { now_ms: 75_000 });
  expect(stateView(committing)).toMatchObject({
    phase: `Step 3 of 9, since ${clockText(60_000)}: ${description}`,
    remaining: 'this step for 15 s',
  });
  const reversing = stagedMessage({ state: 'REVERSING', currentStep: { ...currentStep, since: null } });
  expect(stateView(reversing).phase).toBe(`Step 3 of 9: ${description}`);
});
