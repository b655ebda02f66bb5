import { expect, test } from 'vitest';
import type { Clock } from '../../../src/cluster/clock.js';
import { copyCapped } from '../../../src/copy/capped.js';
import { copyPartition } from '../../../src/copy/copy-partition.js';
import { FakeDoor, serverError } from '../fake-door.js';
import { collectionOf, never } from '../model/parts.js';
import { NotedWrites } from '../noted-writes.js';
import { copyContext, wholeTable } from './copy-scene.js';

/** A clock on which nothing but sleeping takes time, and all of it is noted. */
class NotedClock implements Clock {
  readonly slept: number[] = [];
  now_ms = (): number => 0;
  monotonic_ms = (): number => this.slept.reduce((sum, pause_ms) => sum + pause_ms, 0);
  random = (): number => 0;
  sleep(duration_ms: number): Promise<void> {
    this.slept.push(duration_ms);
    return Promise.resolve();
  }
}

test.each([
  { what: 'a time that cannot be read', capped: false, code: 246, error: 'retriesExhausted' },
  { what: 'a capped collection that overtakes its reader', capped: true, code: 136, error: 'cappedCollectionBusy' },
])('$what is tried again after growing pauses that outlast the tick of an idle shard', async ({ capped, code, error }) => {
  const clock = new NotedClock();
  const shard = new FakeDoor('shard', {
    find: () => {
      throw serverError(code, 'not to be read now');
    },
  });
  const { table, partition } = wholeTable(collectionOf({ capped, sourceKey: [], destinationKey: [] }));
  const copy = capped ? copyCapped : copyPartition;
  const writes = new NotedWrites();
  const context = copyContext({ shard, write: (one) => writes.write(one), clock });
  await expect(copy(table, partition, context, never, never)).rejects.toMatchObject({ error });
  expect(shard.sent).toHaveLength(clock.slept.length + 1);
  expect(clock.slept.length).toBeGreaterThan(9);
  expect(clock.slept[0]).toBeLessThan(1000);
  expect(Math.max(...clock.slept)).toBe(10_000);
  expect(clock.monotonic_ms()).toBeGreaterThanOrEqual(10 * 60_000);
});
