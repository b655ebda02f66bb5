import { setImmediate as immediate } from 'node:timers/promises';
import { Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { Waits } from '../../../../src/cluster/calls-in-flight.js';
import { encodeValue } from '../../../../src/bson/scan.js';
import type { Clock } from '../../../../src/async/clock.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import type { RawBatch, RawCursor, CallOptions } from '../../../../src/cluster/node-client.js';
import { SideFollower, TouchedStream } from '../../../../src/verify/embedded/side-follower.js';
import { TouchedKeys } from '../../../../src/verify/embedded/touched-keys.js';
import type { BookedCollection, VerificationStore } from '../../../../src/verify/embedded/verification-store.js';
import type {
  CollectionToVerify,
  MigrationToVerify,
  VerifierDependencies,
} from '../../../../src/verify/embedded/verification-plan.js';
import { fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { once, never } from '../../model/parts.js';
import { namedOn } from './named-on.js';
import { batchOf } from '../../model/calls.js';
import { tokenOf } from '../../model/change-events.js';
import { second, standingPlace } from '../../model/standing-place.js';

const seconds = (count: number): bigint => BigInt(count) << 32n;

/** A stream that reports its position once, and nothing more. */
function silentAfter(batch: RawBatch): RawCursor {
  const next = (signal: AbortSignal) =>
    new Promise<RawBatch>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  return { first: batch, open: true, next: ({ signal }) => next(signal), close: () => Promise.resolve() };
}

/** A follower at 100 s of a stream that has read up to 120 s when the cluster is at 130 s. */
function fixture() {
  const keys = new TouchedKeys(10_000);
  const entry_: BookedCollection = {
    collection: only<CollectionToVerify>({ key: 'c', ...namedOn({ database: 'shop', name: 'orders' }) }),
    plan: {
      bounds: [],
      times: { source: seconds(100), destination: 0n },
      documents: { source: 0, destination: 0 },
    },
    parts: [],
  };
  const opened: unknown[] = [];
  const clock = { now_ms: 0 };
  const applying = { applyLag_seconds: 0, appliedTime: 0n };
  const slept_ms: number[] = [];
  const router = clientWith({
    openCursor: (
      _database: string,
      command: { pipeline: { $changeStream?: { startAtOperationTime: Timestamp } }[] },
    ) => {
      opened.push(command.pipeline[0]?.$changeStream?.startAtOperationTime);
      return Promise.resolve(
        silentAfter({
          documents: [],
          bytes: 0,
          resumeToken: tokenOf(seconds(120)),
          operationTime: timestampOf(seconds(130)),
        }),
      );
    },
  });
  const deps = only<VerifierDependencies>({
    clock: only<Clock>({
      monotonic_ms: () => clock.now_ms,
      sleep(duration_ms, signal) {
        slept_ms.push(duration_ms);
        return immediate(undefined, { signal });
      },
    }),
    source: fakeCluster({ router, version: [6, 0, 0] }),
    tasks: 1,
    migration: Object.assign(applying, only<MigrationToVerify>({ isCommitAwaited: false })),
    retrying: once,
    waits: new Waits(),
  });
  const store = { keys, streamed: [entry_], named: () => entry_ };
  const follower = (startAt: bigint | null) =>
    new SideFollower('source', deps, only<VerificationStore>(store), startAt);
  return { keys, entry_, opened, clock, applying, slept_ms, store, follower };
}

it('its lag is the time since the last check, and grows while no batch arrives', async () => {
  const { keys, opened, clock, ...made } = fixture();
  const follower = made.follower(null);
  expect(follower.lag_seconds).toBe(0);
  follower.follow();
  const end = new AbortController();
  const running = follower.run(end.signal).catch(() => undefined);
  await follower.moved.until(() => follower.hasRead(seconds(119)), new AbortController().signal);
  expect(opened).toEqual([timestampOf(seconds(100))]);
  expect(follower.lag_seconds).toBe(10);
  keys.add('source', 'c', encodeValue(1), seconds(105), 0);
  expect([follower.lag_seconds, follower.settledBelow]).toEqual([25, seconds(105)]);
  clock.now_ms = 3_000;
  expect([follower.lag_seconds, follower.readLag_seconds]).toEqual([28, 13]);
  end.abort();
  await running;
});

it.each([
  ['is not behind', 3, 150, 120],
  ['catches up', 4, 159, 100],
  ['catches up, far ahead of it', 4, 160, 120],
])('reads while applying %s', async (_, applyLag_seconds, applied, read) => {
  const { applying, slept_ms, ...made } = fixture();
  Object.assign(applying, { applyLag_seconds, appliedTime: seconds(applied) });
  const follower = made.follower(null);
  follower.follow();
  const end = new AbortController();
  const running = follower.run(end.signal).catch(() => undefined);
  const isReading = read === 120;
  while (isReading ? !follower.hasRead(seconds(119)) : slept_ms.length < 10) await immediate();
  expect(follower.position).toBe(seconds(read));
  applying.applyLag_seconds = 3;
  while (!follower.hasRead(seconds(119))) await immediate();
  end.abort();
  await running;
});

it('once nothing is followed any more, new collections are followed from the times of their plans on', () => {
  const { entry_, store, ...made } = fixture();
  const follower = made.follower(seconds(50));
  follower.begin();
  expect(follower.position).toBe(seconds(50));
  store.streamed = [];
  follower.follow();
  expect([follower.position, follower.settledBelow]).toEqual([null, null]);
  store.streamed = [{ ...entry_, collection: { ...entry_.collection, key: 'd' } }];
  follower.follow();
  expect(follower.position).toBe(seconds(100));
});

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
