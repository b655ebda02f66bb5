import { Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { RefusedBuilds } from '../../../../src/lifecycle/leader/reconciled-catalogs.js';
import { TwoShards } from '../../catalog/two-shards.js';
import { depsWith } from '../../model/deps-with.js';
import { recordWith, taskWith } from '../../model/migration-state.js';
import { never } from '../../model/parts.js';

const index = { key: { a: 1, b: 1 }, name: 'a_1_b_1' };
const plan = new TwoShards().planOf([index]);

it('a refused build may pass until all tasks have applied what precedes the index, or for half an hour', async () => {
  let [now_ms, rereads] = [0, 1];
  const task = taskWith({ copyDone: true, checkpoint: new Timestamp(9n) });
  const view = { record: recordWith(), tasks: new Map([['a', task]]) };
  const deps = depsWith({
    runtime: {
      clock: { monotonic_ms: () => now_ms },
      config: { retry_minutes: 30 },
      logger: { warn: () => undefined },
    },
    watch: { view, refresh: () => Promise.resolve(view) },
    metadata: { count: () => Promise.resolve(rereads) },
  });
  const builds = new RefusedBuilds(deps);
  const mayPass = async (): Promise<boolean> =>
    builds.mayPass(plan, index, { settled: await builds.settledTime(never), time: 10n });
  expect([await mayPass(), await mayPass()]).toEqual([true, true]);
  task.checkpoint = new Timestamp(10n);
  expect(await mayPass()).toBe(true);
  rereads = 0;
  expect(await mayPass()).toBe(false);
  task.copyDone = false;
  now_ms = 30 * 60_000 - 1;
  expect(await mayPass()).toBe(true);
  now_ms += 1;
  expect(await mayPass()).toBe(false);
  task.paused = true;
  expect(await mayPass()).toBe(true);
});
