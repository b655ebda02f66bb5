import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { triedReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

const keys: Readonly<Record<string, Document>> = {
  ranged: { '_id.tenant': 1, '_id.n': 1 },
  beside: { region: 1, '_id.tenant': 'hashed' },
};
type Id = Document | number;

interface Row {
  _id: Id;
  region: string;
  v?: number;
  list?: { x: number }[];
  replaced?: boolean;
}

/** The tenant is there, null, missing, or `_id` is no document. */
const ids: Id[] = [{ tenant: 1, n: 1 }, { tenant: 9, n: 1 }, { tenant: null, n: 1 }, { n: 1 }, 5].flatMap((id) =>
  [0, 1, 2, 3, 4].map((more) => (typeof id === 'object' ? { ...id, more } : id + more)),
);

function documentOf(_id: Id): Row {
  return { _id, region: 'r', v: 0, list: [{ x: 0 }] };
}

async function load(side: Side): Promise<void> {
  const { client } = side;
  const admin = client.db('admin');
  const [first, second] = await side.shardIds();
  await admin.command({ enableSharding: 'shop', primaryShard: first });
  for (const [name, key] of Object.entries(keys)) {
    await admin.command({ shardCollection: `shop.${name}`, key });
    if (name !== 'ranged') continue;
    await admin.command({ split: 'shop.ranged', middle: { '_id.tenant': 5, '_id.n': 0 } });
    await admin.command({
      moveChunk: 'shop.ranged',
      find: { '_id.tenant': 5, '_id.n': 0 },
      to: second,
      _waitForDelete: true,
    });
  }
  for (const name of Object.keys(keys)) await client.db('shop').collection<Row>(name).insertMany(ids.map(documentOf));
}

/** An exact update, an ambiguous one, which causes a re-read, a replacement, and a document that is made anew. */
async function change({ client }: Side): Promise<void> {
  for (const name of Object.keys(keys)) {
    const collection = client.db('shop').collection<Row & { _id: Document }>(name);
    for (const [position, _id] of ids.entries()) {
      // The driver's type of filters divides the two kinds of `_id`.
      const filter = { _id: _id as Document, region: 'r' };
      if (position % 5 === 0) await collection.updateOne(filter, { $inc: { v: 1 } });
      if (position % 5 === 1) await collection.updateOne(filter, { $inc: { 'list.0.x': 1 } });
      // A router refuses to replace a document without the whole key.
      if (position % 5 === 2 && position < 15) await collection.replaceOne(filter, { region: 'r', replaced: true });
      if (position % 5 === 3) {
        await collection.deleteOne(filter);
        await collection.insertOne({ ...documentOf(_id), v: -1, _id: _id as Document });
      }
    }
  }
}

describe.each(triedReleases)('%s', (_name, releases) => {
  it('documents whose shard key lies inside of _id are copied, followed, re-read and verified', async () => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
    await load(fixture.cluster0);
    const board = new Board();
    await using one = await fixture.startInstance({ id: 'shard0', sourceAccess: 'direct' }, board.seat());
    await using other = await fixture.startInstance({ id: 'shard1', sourceAccess: 'direct' }, board.seat());
    for (const instance of [one, other]) await instance.accepted('start', startBody());
    await change(fixture.cluster0);
    for (const instance of [one, other]) await instance.untilCanCommit();
    await change(fixture.cluster0);
    for (const instance of [one, other]) await instance.accepted('commit');
    for (const instance of [one, other]) await instance.untilState('COMMITTED');
    for (const name of Object.keys(keys))
      expect(await fixture.cluster1.client.db('shop').collection(name).countDocuments()).toBe(ids.length);
    await expectEqualDatabases(fixture, 'shop');
  });
});
