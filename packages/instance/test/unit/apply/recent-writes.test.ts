import { expect, test } from 'vitest';
import { RecentWrites } from '../../../src/apply/recent-writes.js';
import { DispatcherFixture, event, step } from './dispatcher-fixture.js';

const seconds = (count: number): bigint => BigInt(count) << 32n;

/** A stream that is read at a time of this process and of the source. */
class Fixture {
  now_ms = 0;
  readonly writes = new RecentWrites({ monotonic_ms: () => this.now_ms });

  read(
    at_seconds: number,
    sourceTime_seconds: number,
    namespaces: readonly string[],
    time_seconds = sourceTime_seconds,
  ) {
    this.now_ms = at_seconds * 1_000;
    this.writes.beginStep(seconds(sourceTime_seconds));
    for (const name of namespaces) this.writes.count('shop', name, seconds(time_seconds));
  }
}

test('writes of the last ten seconds count by namespace, most of them first, and then no more', () => {
  const fixture = new Fixture();
  fixture.read(5, 1_000, ['a', 'b', 'b']);
  fixture.read(9, 1_004, ['b']);
  expect(fixture.writes.read()).toEqual({
    writes: 4,
    namespaces: [
      { namespace: 'shop.b', writes: 3 },
      { namespace: 'shop.a', writes: 1 },
    ],
    lastWrite_seconds: 1_004,
  });
  fixture.now_ms = 15_000;
  expect(fixture.writes.read()).toMatchObject({ writes: 1, namespaces: [{ namespace: 'shop.b', writes: 1 }] });
  fixture.now_ms = 19_000;
  expect(fixture.writes.read()).toEqual({ writes: 0, namespaces: [], lastWrite_seconds: 1_004 });
});

test('old writes that a late stream shows do not count', () => {
  const fixture = new Fixture();
  fixture.read(5, 1_000, ['a'], 900);
  fixture.read(5, 1_000, ['a'], 995);
  expect(fixture.writes.read()).toMatchObject({ writes: 1, lastWrite_seconds: 995 });
});

test('after a long time a second counts anew', () => {
  const fixture = new Fixture();
  fixture.read(5, 1_000, ['a', 'a']);
  fixture.read(25, 1_020, ['a']);
  expect(fixture.writes.read().writes).toBe(1);
});

test('namespaces beyond the bound count in the total alone', () => {
  const fixture = new Fixture();
  fixture.read(
    5,
    1_000,
    Array.from({ length: 1_200 }, (_, n) => `c${n}`),
  );
  const { writes, namespaces } = fixture.writes.read();
  expect([writes, namespaces.length]).toEqual([1_200, 1_000]);
});

test.each([
  ['a dispatcher counts writes as it reads them, also while they may not be routed', true, 3],
  ['a dispatcher does not count writes to excluded collections', false, 0],
])('%s', (_what, isIncluded, expected) => {
  const recentWrites = new RecentWrites({ monotonic_ms: () => 5_000 });
  const dispatcher = new DispatcherFixture().dispatcherOf({ recentWrites, filter: { includes: () => isIncluded } });
  dispatcher.setCommitTime(15n);
  dispatcher.route(step([event(20n), event(21n), event(22n)], 30n));
  expect(recentWrites.read().writes).toBe(expected);
});
