import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import type { VerificationStorage } from '../../../../src/store/task-storage.js';
import { Planner, Turns } from '../../../../src/verify/embedded/planning.js';
import type {
  CollectionToVerify,
  MigrationToVerify,
  VerifierDependencies,
} from '../../../../src/verify/embedded/verification-plan.js';
import { VerificationStore } from '../../../../src/verify/embedded/verification-store.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { once } from '../../model/parts.js';
import { namedOn } from './named-on.js';

const { signal } = new AbortController();

/**
 * Two sync tasks that plan `count` collections in turn, of which those above `copiedFrom` are copied, and the planner
 * of one of them.
 */
async function fixture(
  plans: Map<string, Document>,
  task: number,
  { count = 2_000, copiedFrom = 0, isCopyDone = (): boolean => true } = {},
) {
  const collections = Array.from({ length: count }, (_, n): CollectionToVerify => ({
    key: `c${n}`,
    copy: `c${n}`,
    copyTasks: ['shard0', 'shard1'],
    ...namedOn({ database: 'shop', name: `c${n}` }),
    unordered: false,
    capped: false,
    sizeBytes: 1,
    documentCount: 1,
    planner: n % 2,
  }));
  const asked: number[] = [];
  const storage = only<VerificationStorage>({
    claim: () => Promise.resolve([]),
    plansOf: (keys: readonly string[]) => Promise.resolve(keys.flatMap((key) => plans.get(key) ?? [])),
    plan: (key: string, plan: Document) => {
      const stored = { ...plan, _id: key };
      plans.set(key, stored);
      return Promise.resolve(stored);
    },
  });
  const router = new FakeNodeClient('router', {
    count: () => ({ n: 1 }),
    listDatabases: () => ({ operationTime: timestampOf(5n << 32n) }),
  });
  const deps = only<VerifierDependencies>({
    storage,
    task,
    tasks: 2,
    source: fakeCluster({ router }),
    destination: fakeCluster({ router }),
    keysBytesMax: 1_000,
    retrying: once,
    migration: only<MigrationToVerify>({
      catalog: () => Promise.resolve({ ordinal: 0, collections }),
      copied: (some: readonly CollectionToVerify[]) => {
        asked.push(some.length);
        return Promise.resolve(new Set(some.map(({ key }) => key).filter((key) => Number(key.slice(1)) >= copiedFrom)));
      },
      boundsOf: () => Promise.resolve([]),
      get isCopyDone() {
        return isCopyDone();
      },
    }),
  });
  const store = new VerificationStore(deps);
  await store.open();
  await store.takeCatalog(signal);
  return { planner: new Planner(deps, store, []), store, asked };
}

it('collections that wait for their copies do not delay the plans of others', async () => {
  const { planner, store, asked } = await fixture(new Map(), 0, { copiedFrom: 1_500 });
  await planner.planCopied(signal);
  expect([store.streamed.length, asked[0]]).toEqual([0, 500]);
  await planner.planCopied(signal);
  expect(store.streamed).toHaveLength(250);
});

it('everything is planned once the plans of the other sync tasks are known', async () => {
  const plans = new Map<string, Document>();
  const [first, second] = [await fixture(plans, 0), await fixture(plans, 1)];
  for (let turn = 0; turn < 2; turn += 1) await first.planner.planCopied(signal);
  await second.planner.takePlans();
  expect(second.store.isPlanned).toBe(false);
  for (let turn = 0; turn < 2; turn += 1) await second.planner.planCopied(signal);
  expect(second.store.isPlanned).toBe(true);
  expect(first.store.isPlanned).toBe(false);
  await first.planner.takePlans();
  expect(first.store.isPlanned).toBe(true);
});

it('nothing is planned while collections are still being copied, and later copies hold nothing back', async () => {
  const copy = { isDone: false };
  const { planner, store, asked } = await fixture(new Map(), 0, { count: 2, isCopyDone: () => copy.isDone });
  expect(planner.hasBegun).toBe(false);
  copy.isDone = true;
  expect(planner.hasBegun).toBe(true);
  copy.isDone = false;
  expect(planner.hasBegun).toBe(true);
  await planner.planCopied(signal);
  expect([store.streamed.length, asked]).toEqual([1, [1]]);
});

it('gives each its turn before any gets another, whatever is added and removed', () => {
  const turns = new Turns<string>((name) => name);
  expect(turns.next(['a', 'b', 'c', 'd', 'e'], 2)).toEqual(['a', 'b']);
  expect(turns.next(['b', 'c', 'd', 'e'], 2)).toEqual(['c', 'd']);
  expect(turns.next(['b', 'c', 'e', 'f'], 3)).toEqual(['e', 'f']);
  expect(turns.next(['b', 'c', 'e', 'f'], 3)).toEqual(['b', 'c', 'e']);
  expect(turns.next([], 3)).toEqual([]);
});

it('respects the weight, but returns at least one', () => {
  const turns = new Turns<{ name: string; weight: number }>(({ name }) => name);
  const things = [
    { name: 'a', weight: 1 },
    { name: 'b', weight: 2 },
    { name: 'c', weight: 9 },
  ];
  const next = () => turns.next(things, 3, ({ weight }) => weight).map(({ name }) => name);
  expect([next(), next(), next()]).toEqual([['a', 'b'], ['c'], ['a', 'b']]);
});
