import { Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { Waits } from '../../../../src/cluster/calls-in-flight.js';
import { encodeValue } from '../../../../src/bson/scan.js';
import type { Clock } from '../../../../src/async/clock.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import type { RawBatch, RawCursor } from '../../../../src/cluster/node-client.js';
import { SideFollower } from '../../../../src/verify/embedded/side-follower.js';
import { TouchedKeys } from '../../../../src/verify/embedded/touched-keys.js';
import type { BookedCollection, VerificationStore } from '../../../../src/verify/embedded/verification-store.js';
import type { CollectionToVerify } from '../../../../src/verify/embedded/verification-plan.js';
import type { MigrationToVerify, VerifierDependencies } from '../../../../src/verify/embedded/verifier-dependencies.js';
import { fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { once } from '../../model/parts.js';
import { namedOn } from './named-on.js';

const seconds = (count: number): bigint => BigInt(count) << 32n;
const tokenOf = (time: bigint): string => `82${time.toString(16).padStart(16, '0')}`;

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
    clock: only<Clock>({ monotonic_ms: () => clock.now_ms }),
    source: fakeCluster({ router, version: [6, 0, 0] }),
    tasks: 1,
    migration: only<MigrationToVerify>({ isCommitAwaited: false }),
    retrying: once,
    waits: new Waits(),
  });
  const store = { keys, streamed: [entry_], named: () => entry_ };
  const follower = (startAt: bigint | null) =>
    new SideFollower('source', deps, only<VerificationStore>(store), startAt);
  return { keys, entry_, opened, clock, store, follower };
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
