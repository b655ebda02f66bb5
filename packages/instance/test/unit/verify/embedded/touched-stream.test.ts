import { expect, it } from 'vitest';
import type { CallOptions } from '../../../../src/cluster/node-client.js';
import { TouchedStream } from '../../../../src/verify/embedded/touched-stream.js';
import { fakeCluster } from '../../fake-node-client.js';
import { batchOf } from '../../model/calls.js';
import { clientWith } from '../../model/client-with.js';
import { never, once } from '../../model/parts.js';
import { tokenOf } from '../../model/change-events.js';
import { second, standingPlace } from '../../model/standing-place.js';

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

it('is opened anew at its position when it stands still while its cluster goes on, and is named', async () => {
  const opened: unknown[] = [];
  const standing = { resumeToken: tokenOf(20n << 32n), operationTime: second(50n) };
  const next = () => Promise.resolve(batchOf([], standing));
  const router = clientWith({
    label: 'cluster1 router',
    openCursor: (_database, command) => {
      const [stage] = command.pipeline as { $changeStream: { startAtOperationTime: unknown } }[];
      opened.push(stage?.$changeStream.startAtOperationTime);
      return Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() });
    },
  });
  let position = 10n << 32n;
  const place = standingPlace();
  const load = { tasks: 1, migration: { isCommitAwaited: true } };
  const names = [{ database: 'shop', name: 'orders' }];
  const stream = new TouchedStream(fakeCluster({ router }), names, once, () => position, load, place);
  for (let step = 0; step < 24; step += 1) ({ readBelow: position } = withPosition(await stream.next(never), position));
  expect(opened).toEqual([second(10n), second(20n)]);
  expect(place.waits.present).toEqual([{ from: 'cluster1 router', what: 'the stream of writes for the verifier' }]);
});

function withPosition({ readBelow }: { readBelow: bigint }, position: bigint): { readBelow: bigint } {
  return { readBelow: readBelow > position ? readBelow : position };
}
