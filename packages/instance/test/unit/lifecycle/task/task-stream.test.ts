import { expect, it } from 'vitest';
import { only } from '../../../../../api/test/unit/only.js';
import type { ApplyWorkers } from '../../../../src/apply/apply-workers.js';
import type { EventDispatcher } from '../../../../src/apply/event-dispatcher.js';
import { TaskStream } from '../../../../src/lifecycle/task/task-stream.js';
import { ByteBudget } from '../../../../src/store/byte-budget.js';
import { Condition } from '../../../../src/store/condition.js';
import { FakeNodeClient, fakeCluster } from '../../fake-node-client.js';
import { runtimeWith } from '../../model/deps-with.js';
import { never, once, settled, zeroTimestamp } from '../../model/parts.js';

it('waiting for a time ends when the buffer bound is reached, at which the stream is not read', async () => {
  const dispatcher = { position: 5n, moved: new Condition() };
  const budget = new ByteBudget(100);
  const shard = new FakeNodeClient('shard0', { appendOplogNote: () => ({ operationTime: zeroTimestamp }) });
  const deps = {
    runtime: runtimeWith({ retrying: once }),
    source: fakeCluster({ router: shard, shards: new Map([['shard0', shard]]) }),
    shardId: 'shard0',
    patience: { isIdle: () => false, isAwaited: () => false },
  };
  const stream = new TaskStream(deps, only<EventDispatcher>(dispatcher), only<ApplyWorkers>({}), budget, 1n);
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
