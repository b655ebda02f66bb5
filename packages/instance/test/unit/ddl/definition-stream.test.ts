import { expect, it } from 'vitest';
import type { CallOptions, Door } from '../../../src/cluster/door.js';
import { DefinitionStream } from '../../../src/ddl/definition-stream.js';
import { fakeCluster } from '../fake-door.js';
import { batchOf } from '../model/calls.js';
import { never, once } from '../model/parts.js';

it('lets the server wait longer while nothing is to be routed, no more as soon as there is, and for a moment when a commit waits for it', async () => {
  const waits_ms: unknown[] = [];
  const next = ({ maxTime_ms }: CallOptions) => {
    waits_ms.push(maxTime_ms);
    return Promise.resolve(batchOf([], {}));
  };
  const router = { label: 'router', openCursor: () => Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() }) } as unknown as Door;
  let [isCalm, isAwaited] = [false, false];
  const stream = new DefinitionStream(fakeCluster({ router }), once, () => 1n, () => undefined, () => isCalm, () => isAwaited);
  await stream.next(never);
  for (isCalm of [false, true, true, false]) await stream.next(never);
  for ([isCalm, isAwaited] of [[false, true], [true, true], [false, false]] as const) await stream.next(never);
  expect(waits_ms).toEqual([200, 1_000, 1_000, 200, 50, 50, 200]);
});
