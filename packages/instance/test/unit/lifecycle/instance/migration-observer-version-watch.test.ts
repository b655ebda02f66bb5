import { expect, it } from 'vitest';
import { VersionWatch } from '../../../../src/lifecycle/instance/migration-observer.js';
import { never } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { Clock } from '../../../../src/async/clock.js';

const clock = { sleep: () => Promise.resolve() };

it('the versions of the clusters are those of the last look that they answered', async () => {
  const looks = [() => 'lowered', () => Promise.reject(new Error('no answer')), () => null];
  const seen: (string | null)[] = [];
  const watch = new VersionWatch(
    () => Promise.resolve().then(() => looks[seen.length - 1]?.() ?? null),
    only<Clock>(clock),
  );
  await watch.run(() => {
    seen.push(watch.refusal);
    return seen.length > looks.length;
  }, never);
  expect(seen).toEqual([null, 'lowered', 'lowered', null]);
});
