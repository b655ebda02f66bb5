import { backendVersion } from '@convoy/testbed/cluster/server-version';
import type { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import type { LeaderStep } from '../../../src/lifecycle/migration/steps.js';
import { EmbeddedMigration, patience } from './embedded-migration.js';

const full = process.env['CONVOY_TEST_FULL'] === '1';

async function opened(): Promise<EmbeddedMigration> {
  const migration = await EmbeddedMigration.open();
  const { source } = migration;
  const shop = source.db('shop');
  await source.db('admin').command({ enableSharding: 'shop' });
  await source.db('admin').command({ shardCollection: 'shop.orders', key: { region: 1 } });
  await shop.command({ collMod: 'orders', validator: { region: { $gte: 0 } } });
  await shop.collection('orders').createIndexes([{ key: { value: 1 }, name: 'value_1' }]);
  await shop.collection('orders').insertMany(Array.from({ length: 100 }, (_, n) => ({ region: n % 5, value: n })));
  await shop.createCollection('recent', { viewOn: 'orders', pipeline: [{ $match: { value: 1 } }] });
  return migration;
}

const changeView = (client: MongoClient, value: number) =>
  client.db('shop').command({ collMod: 'recent', viewOn: 'orders', pipeline: [{ $match: { value } }] });
const changeValidator = (client: MongoClient, least: number) =>
  client.db('shop').command({ collMod: 'orders', validator: { region: { $gte: least } } });

async function changeIndex(client: MongoClient, sparse: boolean): Promise<void> {
  await client.db('shop').collection('orders').dropIndex('value_1');
  await client
    .db('shop')
    .collection('orders')
    .createIndexes([{ key: { value: 1 }, name: 'value_1', ...(sparse && { sparse }) }]);
}

async function changeShardKey(client: MongoClient): Promise<void> {
  await client
    .db('shop')
    .collection('orders')
    .createIndexes([{ key: { region: 1, value: 1 }, name: 'finer' }]);
  await client.db('admin').command({ refineCollectionShardKey: 'shop.orders', key: { region: 1, value: 1 } });
}

/** Makes a view, a validator, an option of an index and a shard key of the destination differ. */
async function sabotage({ destination }: EmbeddedMigration): Promise<void> {
  await changeView(destination, 2);
  await changeValidator(destination, -9);
  await changeIndex(destination, true);
  await changeShardKey(destination);
}

const found = [
  { namespace: 'shop.recent', kind: 'options', detail: 'pipeline' },
  { namespace: 'shop.orders', kind: 'options', detail: 'validator' },
  { namespace: 'shop.orders', kind: 'index', detail: 'value_1 differs in sparse' },
  { namespace: 'shop.orders', kind: 'index', detail: 'finer is extra' },
  { namespace: 'shop.orders', kind: 'shardKey' },
].map((one) => ({ ...one, _id: null, paths: [], proven: true }));

/** From 6.0 on, servers keep the last index of a shard key. */
const keepsKeyIndex = (await backendVersion(undefined, 'destination'))[0] >= 6;
/** Until the commit is sealed, the engine itself restores everything but shard keys, and what these need. */
const beyondReread = found.filter(
  (one) => one.kind === 'shardKey' || (keepsKeyIndex && 'detail' in one && one.detail === 'finer is extra'),
);

/** Commits: the migration fails, and names what differs. */
async function expectFound(migration: EmbeddedMigration, expected: readonly object[]): Promise<void> {
  expect(await migration.end()).toBe('catalogDiffers');
  const mismatches = await migration.mismatches();
  expect(mismatches).toEqual(expect.arrayContaining(expected.map((one) => expect.objectContaining(one) as unknown)));
  expect(mismatches, JSON.stringify(mismatches)).toHaveLength(expected.length);
  expect(await migration.destination.db('convoy_metadata').collection('migration').findOne()).toMatchObject({
    canWrite: false,
  });
}

/** During the copy, and between the steps of the commit; another test covers the time while changes are applied. */
const times: readonly [LeaderStep, readonly object[]][] = [
  ['syncStarted', beyondReread],
  ['commitSealed', found],
  ['documentsVerified', found],
  ['attributesRestored', found],
];

test.each(full ? times : times.slice(3))(
  'definitions that were made different after the step %s fail the commit, each named',
  async (step, expected) => {
    await using migration = await opened();
    migration.after(step, () => sabotage(migration));
    await migration.start();
    await expectFound(migration, expected);
  },
  patience.timeout * 2,
);

test(
  'definitions made different during apply fail the commit, each named, if the engine cannot restore them',
  async () => {
    await using migration = await opened();
    await migration.start();
    await migration.untilCanCommit();
    await sabotage(migration);
    await expectFound(migration, beyondReread);
  },
  patience.timeout * 2,
);

test(
  'definitions that were made different and then corrected by changes of the source are no mismatch',
  async () => {
    await using migration = await opened();
    await migration.start();
    await migration.untilCanCommit();
    await changeView(migration.destination, 2);
    await changeValidator(migration.destination, -9);
    await changeIndex(migration.destination, true);
    await changeView(migration.source, 3);
    await changeValidator(migration.source, -1);
    await changeIndex(migration.source, false);
    await migration.untilCanCommit();
    expect(await migration.end()).toBe('COMMITTED');
    expect(await migration.mismatches()).toEqual([]);
  },
  patience.timeout * 2,
);
