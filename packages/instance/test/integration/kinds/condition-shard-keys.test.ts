import { BSONRegExp, type Document, Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { triedReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { documentsOf, expectEqualDatabases } from './equal-databases.js';

/** Shard-key values that a query would take for conditions, or that routers do not find in it. */
const values: readonly unknown[] = [
  new BSONRegExp('^a', ''),
  new BSONRegExp('(', ''),
  { $gt: 'a' },
  { $in: ['abc'] },
  { $x: 1 },
  { $id: 1 },
  { $ref: 'x' },
  { $db: 'x' },
  { $ref: 'x', $id: 1 },
  { a: { $gt: 'a' } },
];
/** What happens to the document of each value, apart from its twin. */
const roles = ['deleted', 'updated', 'ambiguous', 'replaced', 'made anew', 'zero timestamp', 'kept'] as const;

interface Kind {
  key: Document;
  /** Divides what is below documents, such as strings, from the rest. */
  middle?: Document;
  /** The fields of a shard-key value. */
  fieldsOf(value: unknown): Document;
  /** Matches exactly this value. */
  filterOf(value: unknown): Document;
}

const kinds: Readonly<Record<string, Kind>> = {
  ranged: {
    key: { sk: 1 },
    middle: { sk: {} },
    fieldsOf: (sk) => ({ sk }),
    filterOf: (sk) => ({ sk: { $eq: sk } }),
  },
  hashed: { key: { sk: 'hashed' }, fieldsOf: (sk) => ({ sk }), filterOf: (sk) => ({ sk: { $eq: sk } }) },
  nested: {
    key: { 'at.place': 1, n: 1 },
    middle: { 'at.place': {}, n: 0 },
    fieldsOf: (place) => ({ at: { place }, n: 1 }),
    filterOf: (place) => ({ 'at.place': { $eq: place }, n: 1 }),
  },
};

interface Row extends Document {
  _id: number;
}

const duplicateKey = 11_000;

const cases = values.flatMap((value, index) =>
  roles.map((role, position) => ({ _id: index * roles.length + position, value, role })),
);

function documentOf(_id: number, kind: Kind, value: unknown): Row {
  return { _id, ...kind.fieldsOf(value), v: 0, list: [{ x: 0 }] };
}

/** Every document has a twin with its `_id` on the other shard, whose value fulfils the conditions. */
async function load(side: Side): Promise<void> {
  const admin = side.client.db('admin');
  const [first, second] = await side.shardIds();
  await admin.command({ enableSharding: 'shop', primaryShard: first });
  for (const [name, kind] of Object.entries(kinds)) {
    const { key, middle } = kind;
    await admin.command({ shardCollection: `shop.${name}`, key });
    if (middle !== undefined) {
      await admin.command({ split: `shop.${name}`, middle });
      await admin.command({ moveChunk: `shop.${name}`, find: middle, to: second, _waitForDelete: true });
    }
    const collection = side.client.db('shop').collection<Row>(name);
    await collection.insertMany(cases.map(({ _id, value }) => documentOf(_id, kind, value)));
    for (const { _id } of cases) await insertTwin(side, name, kind, _id);
    // Inserts would replace it with the current time.
    for (const { _id, value } of cases.filter(({ role }) => role === 'zero timestamp'))
      await collection.updateOne({ _id, ...kind.filterOf(value) }, { $set: { t: new Timestamp(0n) } });
  }
}

/** Hashes decide where a twin is: it is tried until it is on the other shard. */
async function insertTwin({ client }: Side, name: string, kind: Kind, _id: number): Promise<void> {
  const collection = client.db('shop').collection<Row>(name);
  for (let attempt = 0; ; attempt += 1) {
    const text = attempt === 0 ? 'abc' : `abc${attempt}`;
    const refused = await collection.insertOne(documentOf(_id, kind, text)).then(
      () => null,
      (error: unknown) => error as { code: unknown },
    );
    if (refused === null) return;
    expect(refused).toMatchObject({ code: duplicateKey });
  }
}

async function change({ client }: Side): Promise<void> {
  for (const [name, kind] of Object.entries(kinds)) {
    const collection = client.db('shop').collection<Row>(name);
    for (const { _id, value, role } of cases) {
      const filter = { _id, ...kind.filterOf(value) };
      if (role === 'updated') await collection.updateOne(filter, { $set: { v: 1, t: new Timestamp(0n) } });
      if (role === 'ambiguous') await collection.updateOne(filter, { $inc: { 'list.0.x': 1 } });
      if (role === 'replaced') await collection.replaceOne(filter, { ...kind.fieldsOf(value), v: 2 });
      if (role === 'deleted' || role === 'made anew')
        expect(await collection.deleteOne(filter)).toMatchObject({ deletedCount: 1 });
      if (role === 'made anew') await collection.insertOne({ ...documentOf(_id, kind, value), v: 3 });
    }
  }
}

describe.each(triedReleases)('%s', (_name, releases) => {
  it.each([true, false])(
    'documents whose shard-key values look like conditions are copied, followed and re-read; verified: %s',
    async (enabled) => {
      await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
      await load(fixture.cluster0);
      const board = new Board();
      await using one = await fixture.startInstance({ id: 'shard0', sourceAccess: 'direct' }, board.seat());
      await using other = await fixture.startInstance({ id: 'shard1', sourceAccess: 'direct' }, board.seat());
      for (const instance of [one, other]) await instance.accepted('start', startBody({ verification: { enabled } }));
      for (const instance of [one, other]) await instance.untilCanCommit();
      await change(fixture.cluster0);
      for (const instance of [one, other]) await instance.accepted('commit');
      for (const instance of [one, other]) await instance.untilState('COMMITTED');
      const gone = cases.filter(({ role }) => role === 'deleted').length;
      for (const name of Object.keys(kinds))
        expect(await fixture.cluster0.client.db('shop').collection(name).countDocuments()).toBe(
          2 * cases.length - gone,
        );
      await expectEqualDatabases(fixture, 'shop');
    },
  );
});

it('a replica set with such values is distributed by bounds that zones take', async () => {
  await using fixture = await Fixture.open('replicaSet', { shards: 2 });
  const { client } = fixture.cluster0;
  const kind = kinds.ranged as Kind;
  await client
    .db('shop')
    .collection<Row>('ranged')
    .insertMany(
      cases.flatMap(({ _id, value }) => [documentOf(_id, kind, value), documentOf(-1 - _id, kind, `${_id}`)]),
    );
  await using instance = await fixture.startInstance();
  const entry = { database: 'shop', collection: 'ranged', shardCollection: { key: [{ sk: 1 }] } };
  await instance.migrate(startBody({ sharding: { createSupportingIndexes: true, shardingEntries: [entry] } }));
  const present = await documentsOf(fixture.cluster1.client, 'shop', 'ranged', false);
  expect(present).toEqual(await documentsOf(client, 'shop', 'ranged', false));
  expect(present).toHaveLength(2 * cases.length);
  expect(await chunkCounts(fixture.cluster1)).toEqual([expect.any(Number), expect.any(Number)]);
});

/** The number of chunks of each shard that has some. */
async function chunkCounts({ client }: Side): Promise<number[]> {
  const counts = await client
    .db('config')
    .collection('chunks')
    .aggregate<{ count: number }>([
      { $lookup: { from: 'collections', localField: 'uuid', foreignField: 'uuid', as: 'of' } },
      { $match: { 'of._id': 'shop.ranged' } },
      { $group: { _id: '$shard', count: { $sum: 1 } } },
    ])
    .toArray();
  return counts.map(({ count }) => count);
}
