import { Code, type Collection } from 'mongodb';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { documentsOf } from './equal-databases.js';
import { sampled } from '../../../../../test/seed.js';
import { needs } from '../../../../../e2e/requirements.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

async function storedFunctions(fixture: Fixture): Promise<Collection<{ _id: string; value: Code }>> {
  const functions = fixture.cluster0.client.db('shop').collection<{ _id: string; value: Code }>('system.js');
  await functions.insertMany([
    { _id: 'double', value: new Code('function (x) { return 2 * x; }') },
    { _id: 'scoped', value: new Code('function () {}', { n: 1 }) },
  ]);
  return functions;
}

it('functions that are stored in system.js are copied', async () => {
  await storedFunctions(fixture);
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody());
  const copied = await documentsOf(fixture.cluster1.client, 'shop', 'system.js', false);
  expect(copied).toHaveLength(2);
  expect(copied).toEqual(await documentsOf(fixture.cluster0.client, 'shop', 'system.js', false));
});

type Functions = Collection<{ _id: string; value: Code }>;

const changes = [
  [
    'changed',
    (functions: Functions) =>
      functions.updateOne({ _id: 'double' }, { $set: { value: new Code('function (x) { return x + x; }') } }),
  ],
  ['added', (functions: Functions) => functions.insertOne({ _id: 'new', value: new Code('function () {}') })],
  ['removed', (functions: Functions) => functions.deleteOne({ _id: 'double' })],
] as const;

it.each(changes)(
  'a function that is %s after its copy is followed (servers from 6.0)',
  needs({ version: [6, 0] }),
  async (_what, change) => {
    const functions = await storedFunctions(fixture);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await change(functions);
    await instance.commitWhenOffered();
    expect(await documentsOf(fixture.cluster1.client, 'shop', 'system.js', false)).toEqual(
      await documentsOf(fixture.cluster0.client, 'shop', 'system.js', false),
    );
  },
);

it.each(sampled(changes))(
  'a function that is %s after its copy, which no change stream shows before 6.0, is found at the commit',
  async (_what, change) => {
    await using older = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1: '5.0' });
    const functions = await storedFunctions(older);
    await using instance = await older.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await change(functions);
    await instance.accepted('commit');
    await expect.poll(async () => (await instance.progressReply()).body.error as unknown).toBe('ddlNotSupported');
  },
);
