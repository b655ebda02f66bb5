import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/async/clock.js';
import { CollectionAbsentError } from '../../../src/cluster/failure.js';
import { copyCapped } from '../../../src/copy/copy-capped.js';
import { copyPartition } from '../../../src/copy/copy-partition.js';
import { FakeNodeClient, serverError } from '../fake-node-client.js';
import { bytesOf, collectionOf, never } from '../model/parts.js';
import { NotedWrites } from '../noted-writes.js';
import { copyDeps, cursorClient, wholeTable } from './copy-fixture.js';
import { routedStream } from '../model/routed-stream.js';

/** A clock that only sleeps advance, with their record. */
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
])(
  '$what is retried after growing pauses, longer than the no-op interval of an idle shard',
  async ({ capped, code, error }) => {
    const clock = new NotedClock();
    const shard = new FakeNodeClient('shard', {
      find: () => {
        throw serverError(code, 'not to be read now');
      },
    });
    const { table, partition } = wholeTable(collectionOf({ capped, sourceKey: [], destinationKey: [] }));
    const copy = capped ? copyCapped : copyPartition;
    const writes = new NotedWrites();
    const deps = copyDeps({ shard, write: (one) => writes.write(one), clock });
    await expect(copy({ table, partition, deps, stop: never, hard: never })).rejects.toMatchObject({ error });
    expect(shard.sent).toHaveLength(clock.slept.length + 1);
    expect(clock.slept.length).toBeGreaterThan(9);
    expect(clock.slept[0]).toBeLessThan(1000);
    expect(Math.max(...clock.slept)).toBe(10_000);
    expect(clock.monotonic_ms()).toBeGreaterThanOrEqual(10 * 60_000);
  },
);

test('an unanswered write ends the copy, even when its read failed in a retryable way', async () => {
  const givenUp = new ConvoyError('retriesExhausted', 'insert documents failed');
  const document = bytesOf({ _id: 1 });
  let batches = 0;
  const take = () => {
    batches += 1;
    if (batches > 1) throw serverError(246, 'not to be read any more');
    return { documents: [document], bytes: document.length, atClusterTime: new Timestamp({ t: 0, i: 5 }) };
  };
  const { table, partition } = wholeTable(collectionOf({ sourceKey: [], destinationKey: [] }));
  const deps = copyDeps({
    shard: cursorClient(take, () => true),
    write: () => Promise.reject(givenUp),
    clock: new NotedClock(),
  });
  await expect(copyPartition({ table, partition, deps, stop: never, hard: never })).rejects.toBe(givenUp);
  expect(batches).toBe(2);
});

// At a time before a rename, a router of 7.0 shows a sharded collection under its old name if one shard still has it.
test.each(['name', 'nameOfUuid'] as const)(
  'a read by name counts only once all DDL changes are known, and is repeated after one: %s',
  async (readBy) => {
    let [readings, isKnown] = [0, false];
    const take = () => {
      readings += 1;
      return { documents: [], bytes: 0, atClusterTime: new Timestamp({ t: 0, i: 5 }) };
    };
    const { table, partition } = wholeTable(collectionOf({ sourceKey: [], destinationKey: [], readBy }));
    const untilNamed = (): Promise<void> => {
      expect(partition.state).toBe('copying');
      if (isKnown) return Promise.resolve();
      isKnown = true;
      return Promise.reject(new CollectionAbsentError('renamed'));
    };
    const writes = new NotedWrites();
    const deps = copyDeps({
      shard: cursorClient(take, () => false),
      write: (one) => writes.write(one),
      clock: new NotedClock(),
      stream: routedStream({ untilNamed }),
    });
    await copyPartition({ table, partition, deps, stop: never, hard: never });
    expect([partition.state, readings]).toEqual(['done', 2]);
  },
);
