import { BSON, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { encodeValue } from '../../../../src/bson/scan.js';
import type { Clock } from '../../../../src/async/clock.js';
import type { VerificationStorage } from '../../../../src/store/task-storage.js';
import { Rechecks } from '../../../../src/verify/embedded/rechecks.js';
import { newDifference, storedMismatch } from '../../../../src/verify/embedded/stored-mismatch.js';
import { TouchedKeys } from '../../../../src/verify/embedded/touched-keys.js';
import type { VerificationStore } from '../../../../src/verify/embedded/verification-store.js';
import type {
  CollectionToVerify,
  MigrationToVerify,
  VerifierDependencies,
} from '../../../../src/verify/embedded/verification-plan.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { once } from '../../model/parts.js';
import { namedOn } from './named-on.js';

type Stored = Document & { _id: string };

const { signal } = new AbortController();
const collectionOf = (key: string): CollectionToVerify => ({
  key,
  copy: key,
  copyTasks: [],
  ...namedOn({ database: 'shop', name: key }),
  unordered: false,
  capped: false,
  sizeBytes: 1,
  documentCount: 1,
  planner: 0,
});
const mismatchOf = (key: string, id: number, ordinal = 0): Stored =>
  storedMismatch(
    collectionOf(key),
    encodeValue(id),
    { kind: 'different', paths: [] },
    { first: new Date(0), last: new Date(0), looks: 1, ordinal, history: newDifference },
  );

/**
 * A sync task with mismatches; the destination lacks the `_id`s of `wrong`. `ordinal`: known entries of the journal.
 */
function fixture(
  stored: Stored[],
  { wrong = [] as number[], followed = ['orders'], ordinal = 0, beforeFind = (): void => undefined } = {},
) {
  const mismatches = new Map(stored.map((one) => [one._id, one]));
  const storage = only<VerificationStorage>({
    countMismatches: () => Promise.resolve(mismatches.size),
    mismatchesAfter: (name: string, limit: number) =>
      Promise.resolve(
        [...mismatches.values()]
          .filter(({ _id }) => _id > name)
          .sort((a, b) => (a._id < b._id ? -1 : 1))
          .slice(0, limit),
      ),
    saveMismatches: (documents: readonly Stored[]) => {
      for (const one of documents) mismatches.set(one._id, one);
      return Promise.resolve();
    },
    removeMismatches: (names: readonly string[]) => {
      for (const name of names) mismatches.delete(name);
      return Promise.resolve();
    },
  });
  const router = (without: readonly number[]) =>
    new FakeNodeClient('router', {
      find: (_, { filter }: Document) => {
        beforeFind();
        const ids = (filter as { _id: { $in: number[] } })._id.$in.map(Number);
        return { cursor: { firstBatch: ids.filter((id) => !without.includes(id)).map((_id) => ({ _id })) } };
      },
    });
  const clock = only<Clock>({ now_ms: () => 5, monotonic_ms: () => 5 });
  const deps = only<VerifierDependencies>({
    storage,
    clock,
    source: fakeCluster({ router: router([]) }),
    destination: fakeCluster({ router: router(wrong) }),
    migration: only<MigrationToVerify>({ appliedTime: 100n }),
    retrying: once,
  });
  const entry_ = new Map(followed.map((key) => [key, { collection: collectionOf(key), plan: null, parts: [] }]));
  const store = only<VerificationStore>({
    keys: new TouchedKeys(100_000),
    ordinal,
    get: (key: string) => entry_.get(key),
  });
  return { rechecks: new Rechecks(deps, store), mismatches, store };
}

const lookAtMismatches = (rechecks: Rechecks) =>
  rechecks.lookAtMismatches({ source: 0n, destination: 0n }, () => false, signal);

it('what is found during a pass also counts, until it is checked itself', async () => {
  let rechecks: Rechecks | null = null;
  const found = [3];
  const made = fixture([mismatchOf('orders', 1), mismatchOf('orders', 2)], {
    wrong: [1],
    beforeFind: () => rechecks?.found(found.splice(0).length),
  });
  rechecks = made.rechecks;
  await rechecks.open();
  expect(rechecks.mismatches).toBe(2);
  expect(await lookAtMismatches(rechecks)).toBe(1);
  expect(rechecks.mismatches).toBe(2);
  expect(await lookAtMismatches(rechecks)).toBe(1);
  expect(rechecks.mismatches).toBe(1);
});

it('removes mismatches of collections that are gone, and keeps those of unknown collections', async () => {
  const { rechecks, mismatches } = fixture(
    [mismatchOf('dropped', 1, 4), mismatchOf('later', 2, 6), mismatchOf('orders', 3, 4)],
    { wrong: [3], ordinal: 5 },
  );
  await rechecks.open();
  expect(await lookAtMismatches(rechecks)).toBe(2);
  expect([...mismatches.values()].map(({ key }) => String(key)).sort()).toEqual(['later', 'orders']);
});

it('checks a key that is written all the time, and stores it once it has differed three times', async () => {
  const { rechecks, mismatches, store } = fixture([], { wrong: [1] });
  for (let time = 1n; time < 90n; time += 1n) store.keys.add('source', 'orders', encodeValue(1), time, 0);
  for (let look = 0; look < 3; look += 1) {
    for (const key of store.keys.some(1, () => true)) key.notBefore_ms = -2_000;
    store.keys.add('source', 'orders', encodeValue(1), 1_000n, 0);
    expect(await rechecks.lookAtDue(50n, signal)).toBe(true);
  }
  expect([store.keys.size, rechecks.mismatches]).toEqual([0, 1]);
  expect(BSON.EJSON.serialize([...mismatches.values()])).toMatchObject([
    { kind: 'missingOnDestination', key: 'orders' },
  ]);
});

it.each([
  ['at once when both streams have shown it', ['source', 'destination'], 0, true],
  ['only later when one stream has shown it', ['source'], -1_900, false],
  ['after two seconds when one stream has shown it', ['source'], -2_000, true],
  ['after two seconds when somebody else wrote it', ['destination'], -2_000, true],
] as const)('checks a key %s', async (_, shownBy, notBefore_ms, isDue) => {
  const { rechecks, store } = fixture([], {});
  for (const side of shownBy) store.keys.add(side, 'orders', encodeValue(1), 7n, notBefore_ms);
  expect(await rechecks.lookAtDue(50n, signal)).toBe(isDue);
  expect(store.keys.size).toBe(isDue ? 0 : 1);
});
