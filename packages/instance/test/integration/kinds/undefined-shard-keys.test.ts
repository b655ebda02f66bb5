import { BSON, type Document, Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { Board } from '../contract/board-fleet.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { expectEqualDatabases } from './equal-databases.js';
import { sampled } from '../../../../../test/seed.js';

const keys = { ranged: { sk: 1 }, hashed: { sk: 'hashed' } } as const;
const names = ['ranged', 'hashed'] as const;
const kinds = ['undefined', 'null', 'missing'] as const;
const inserted_ms = 60_000;

/**
 * A document whose shard-key value is undefined, null or missing, depending on `_id`; drivers cannot write undefined.
 */
function documentOf(_id: number, kind = kinds[_id % kinds.length]): Uint8Array {
  const bytes = Buffer.from(BSON.serialize({ _id, ...(kind !== 'missing' && { sk: null }), v: _id }));
  const at = bytes.indexOf(Buffer.from('\x0ask\0'));
  if (kind === 'undefined') bytes[at] = 0x06;
  return bytes;
}

async function insert({ connectionString }: Side, documents: readonly Uint8Array[]): Promise<void> {
  const signal = AbortSignal.timeout(inserted_ms);
  const cluster = await openCluster('cluster0', connectionString, { direct: false, signal });
  try {
    for (const collection of names) {
      const outcome = await cluster.router.write(
        { database: 'shop', collection, kind: 'insert', statements: documents, ordered: false },
        null,
        { signal },
      );
      expect(outcome).toMatchObject({ n: documents.length, failures: [] });
    }
  } finally {
    await cluster.close();
  }
}

/** Undefined is on another shard than null. */
async function load(side: Side): Promise<void> {
  const admin = side.client.db('admin');
  const [first, second] = await side.shardIds();
  await admin.command({ enableSharding: 'shop', primaryShard: first });
  for (const name of names) await admin.command({ shardCollection: `shop.${name}`, key: keys[name] });
  await admin.command({ split: 'shop.ranged', middle: { sk: null } });
  await admin.command({ moveChunk: 'shop.ranged', find: { sk: null }, to: second, _waitForDelete: true });
  await insert(
    side,
    Array.from({ length: 12 }, (_, n) => documentOf(n)),
  );
  // Inserts would replace it with the current time.
  await update(side, [0, 1, 2], { $set: { t: new Timestamp(0n) } });
}

async function update({ client }: Side, ids: readonly number[], change: Document): Promise<void> {
  for (const name of names) {
    for (const _id of ids)
      expect(await client.db('shop').collection<{ _id: number }>(name).updateOne({ _id }, change)).toMatchObject({
        modifiedCount: 1,
      });
  }
}

async function remove({ client }: Side, ids: readonly number[]): Promise<void> {
  for (const name of names) {
    for (const _id of ids)
      expect(await client.db('shop').collection<{ _id: number }>(name).deleteOne({ _id })).toMatchObject({
        deletedCount: 1,
      });
  }
}

/** Exact updates and ambiguous ones, deletes, recreated documents, some of them with another of these values. */
async function change(side: Side): Promise<void> {
  await update(side, [0, 1, 2], { $set: { 'w.0': 1 } });
  await update(side, [3, 4, 5], { $set: { v: -1 } });
  await remove(side, [3, 6, 7, 8, 9, 10, 11]);
  await insert(side, [
    documentOf(3),
    documentOf(9, 'null'),
    documentOf(10, 'undefined'),
    documentOf(11, 'undefined'),
    documentOf(20),
    documentOf(21),
    documentOf(22),
  ]);
  await update(side, [9, 10, 20], { $set: { v: -2 } });
}

async function changeBack(side: Side): Promise<void> {
  await update(side, [0, 1, 2], { $set: { v: -3 } });
  await remove(side, [20, 21, 22]);
  await insert(side, [documentOf(20, 'missing'), documentOf(21, 'undefined'), documentOf(6)]);
}

async function started(fixture: Fixture, settings: Document, options: Document): Promise<ServedInstance[]> {
  const board = new Board();
  const instances = [
    await fixture.startInstance({ id: 'shard0', ...settings }, board.seat()),
    await fixture.startInstance({ id: 'shard1', ...settings }, board.seat()),
  ];
  for (const instance of instances) await instance.accepted('start', startBody(options));
  for (const instance of instances) await instance.untilCanCommit();
  return instances;
}

async function committed(instances: readonly ServedInstance[]): Promise<void> {
  for (const instance of instances) await instance.accepted('commit');
  for (const instance of instances) await instance.untilState('COMMITTED');
}

async function close(instances: readonly ServedInstance[]): Promise<void> {
  for (const instance of instances) await instance[Symbol.asyncDispose]();
}

it.each(sampled(['5.0', '8.0'] as const))(
  'documents whose shard-key value is undefined, null or missing are copied, followed, re-read and verified: %s',
  async (release) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
    await load(fixture.cluster0);
    const instances = await started(fixture, { sourceAccess: 'direct' }, {});
    await change(fixture.cluster0);
    await committed(instances);
    await expectEqualDatabases(fixture, 'shop');
    await close(instances);
  },
);

it('and are replayed by a reverse: 8.0', async () => {
  await using fixture = await Fixture.open(
    { shards: 2 },
    { shards: 2 },
    { cluster0: '8.0', cluster1: '8.0', withUsers: true },
  );
  await load(fixture.cluster0);
  const instances = await started(
    fixture,
    { sourceAccess: 'router' },
    { enableUserWriteBlocking: true, reversible: true },
  );
  await change(fixture.cluster0);
  await committed(instances);
  await expectEqualDatabases(fixture, 'shop');
  await changeBack(fixture.cluster1);
  for (const instance of instances) await instance.accepted('reverse');
  for (const instance of instances) await instance.untilCanCommit();
  await committed(instances);
  await expectEqualDatabases(fixture, 'shop');
  await close(instances);
});
