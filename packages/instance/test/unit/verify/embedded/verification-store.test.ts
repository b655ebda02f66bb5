import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { encodeValue } from '../../../../src/bson/scan.js';
import type { VerificationStorage } from '../../../../src/store/task-storage.js';
import {
  type CollectionToVerify,
  type MigrationToVerify,
  restoredPart,
  storedPlan,
  type VerifierDependencies,
} from '../../../../src/verify/embedded/verification-plan.js';
import { VerificationStore } from '../../../../src/verify/embedded/verification-store.js';
import { namedOn } from './named-on.js';

const { signal } = new AbortController();

/** The store of a collection in three parts, and the parts that it has stored, one entry for each time. */
async function planned() {
  const saved: Document[][] = [];
  const collection = only<CollectionToVerify>({
    key: 'orders',
    ...namedOn({ database: 'shop', name: 'orders' }),
    planner: 0,
  });
  const deps = only<VerifierDependencies>({
    task: 0,
    tasks: 1,
    keysBytesMax: 1_000,
    migration: only<MigrationToVerify>({
      catalog: () => Promise.resolve({ ordinal: 0, collections: [collection] }),
    }),
    storage: only<VerificationStorage>({
      claim: () => Promise.resolve([]),
      plansOf: () => Promise.resolve([]),
      saveParts: (_key: string, parts: readonly Document[]) => Promise.resolve(void saved.push([...parts])),
    }),
  });
  const store = new VerificationStore(deps);
  await store.open();
  await store.takeCatalog(signal);
  const plan = { bounds: [10, 20].map(encodeValue), times: { source: 1n, destination: 1n } };
  store.setPlan('orders', storedPlan({ ...plan, documents: { source: 30, destination: 30 } }));
  return { store, saved };
}

it('a part is taken once until it is released, and not again once it is compared', async () => {
  const { store } = await planned();
  const taken = [store.takePart(), store.takePart(), store.takePart()].map((each) => each?.part);
  expect(taken.map((part) => part?.index)).toEqual([0, 1, 2]);
  expect([store.takePart(), store.isCompared]).toEqual([undefined, false]);
  const [first, second] = taken;
  if (first === undefined || second === undefined) throw new Error('no parts');
  first.done = true;
  for (const part of [first, second]) store.release(part);
  expect(store.takePart()?.part).toBe(second);
  expect(store.takePart()).toBeUndefined();
});

it('storing a part stores of the others only what they have recorded', async () => {
  const { store, saved } = await planned();
  const [first, second] = [store.takePart(), store.takePart()];
  if (first === undefined || second === undefined) throw new Error('no parts');
  second.part.source = 5;
  first.part.source = 3;
  first.part.lower = encodeValue(4);
  await store.savePart(first.entry_, first.part);
  first.part.source = 9;
  await store.savePart(second.entry_, second.part);
  expect(saved.map((parts) => parts.map((part) => restoredPart(part).source))).toEqual([
    [3, 0, 0],
    [3, 5, 0],
  ]);
});
