import { expect, it } from 'vitest';
import type { CallOptions } from '../../../../src/cluster/node-client.js';
import { TouchedStream } from '../../../../src/verify/embedded/touched-stream.js';
import { fakeCluster } from '../../fake-node-client.js';
import { batchOf } from '../../model/calls.js';
import { clientWith } from '../../model/client-with.js';
import { never, once } from '../../model/parts.js';

it('lets the server wait only briefly while a commit waits, the longer the more sync tasks there are', async () => {
  const waits_ms: unknown[] = [];
  const next = ({ maxTime_ms }: CallOptions) => {
    waits_ms.push(maxTime_ms);
    return Promise.resolve(batchOf([], {}));
  };
  const router = clientWith({
    openCursor: () => Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() }),
  });
  const load = { tasks: 2, migration: { isCommitAwaited: false } };
  const stream = new TouchedStream(
    fakeCluster({ router }),
    [{ database: 'shop', name: 'orders' }],
    once,
    () => 1n,
    load,
  );
  await stream.next(never);
  for (const [isCommitAwaited, tasks] of [
    [false, 2],
    [true, 2],
    [true, 3],
    [true, 64],
    [false, 2],
  ] as const) {
    Object.assign(load, { tasks, migration: { isCommitAwaited } });
    await stream.next(never);
  }
  expect(waits_ms).toEqual([200, 50, 75, 200, 200]);
});
