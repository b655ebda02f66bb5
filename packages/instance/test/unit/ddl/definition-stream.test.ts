import { expect, it } from 'vitest';
import type { CallOptions, Door } from '../../../src/cluster/door.js';
import { DefinitionStream } from '../../../src/ddl/definition-stream.js';
import { fakeCluster } from '../fake-door.js';
import { batchOf } from '../model/calls.js';
import { never, once } from '../model/parts.js';

it('lets the server wait longer while nothing is to be routed, and no more as soon as there is', async () => {
  const waits_ms: unknown[] = [];
  const next = ({ maxTime_ms }: CallOptions) => {
    waits_ms.push(maxTime_ms);
    return Promise.resolve(batchOf([], {}));
  };
  const router = { label: 'router', openCursor: () => Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() }) } as unknown as Door;
  let isCalm = false;
  const stream = new DefinitionStream(fakeCluster({ router }), once, () => 1n, () => undefined, () => isCalm);
  await stream.next(never);
  for (isCalm of [false, true, true, false]) await stream.next(never);
  expect(waits_ms).toEqual([200, 1_000, 1_000, 200]);
});
