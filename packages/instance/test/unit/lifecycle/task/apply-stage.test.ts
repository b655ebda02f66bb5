import { expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { Waits } from '../../../../src/cluster/calls-in-flight.js';
import type { StreamStep } from '../../../../src/apply/change-stream-reader.js';
import type { ApplyWorkers } from '../../../../src/apply/apply-workers.js';
import type { EventDispatcher } from '../../../../src/apply/event-dispatcher.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import type { RawCursor } from '../../../../src/cluster/node-client.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import { TaskStream } from '../../../../src/lifecycle/task/apply-stage.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { ByteBudget, Condition } from '../../../../src/async/waiting.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { batchOf } from '../../model/calls.js';
import { clientWith } from '../../model/client-with.js';
import { runtimeWith } from '../../model/deps-with.js';
import { never, once, settled, zeroTimestamp } from '../../model/parts.js';
import type { SyncPipelineDependencies } from '../../../../src/lifecycle/task/sync-pipeline.js';

it("the source's time goes on while the stream does not answer; an idle stream is not silent yet", async () => {
  const clock = { now_ms: 0 };
  const heard = 100n << 32n;
  const dispatcher = { sourceTime: 0n, route: ({ sourceTime }: StreamStep) => (dispatcher.sourceTime = sourceTime) };
  const cursor: RawCursor = {
    first: batchOf([], { operationTime: timestampOf(heard) }),
    open: true,
    next: () => new Promise(() => undefined),
    close: () => Promise.resolve(),
  };
  const shard = clientWith({
    label: 'shard0',
    command: () => Promise.resolve({ operationTime: zeroTimestamp }),
    openCursor: () => Promise.resolve(cursor),
  });
  const deps = {
    runtime: only<Runtime>({
      clock: only<Runtime['clock']>({ monotonic_ms: () => clock.now_ms }),
      metrics: new Metrics({ processMetrics: false }),
      retrying: once,
      waits: new Waits(),
    }),
    source: fakeCluster({ router: shard, shards: new Map([['shard0', shard]]) }),
    shardId: 'shard0',
    patience: { isIdle: () => true, isAwaited: () => false },
  };
  const workers = only<ApplyWorkers>({ untilRoom: () => Promise.resolve() });
  const stream = new TaskStream(
    only<SyncPipelineDependencies>(deps),
    only<EventDispatcher>(dispatcher),
    workers,
    new ByteBudget(100),
    1n,
  );
  const secondsAfter = (silent_ms: number): bigint => {
    clock.now_ms = 60_000 + silent_ms;
    return (stream.sourceTime - heard) >> 32n;
  };
  clock.now_ms = 60_000;
  void stream.run(never);
  await settled();
  expect([1_500, 3_000, 4_000, 33_000].map(secondsAfter)).toEqual([0n, 0n, 1n, 30n]);
});

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
  const stream = new TaskStream(
    only<SyncPipelineDependencies>(deps),
    only<EventDispatcher>(dispatcher),
    only<ApplyWorkers>({}),
    budget,
    1n,
  );
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
