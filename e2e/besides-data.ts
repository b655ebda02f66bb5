import { type Document, Long, MinKey, type MongoClient } from 'mongodb';
import { expect } from 'vitest';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { Clusters } from './fleet.js';

const namespace = 'besides.zoned';

/** What every release from 5.0 on has besides data; the zone of a first shard belongs to the last one there. */
export function carryBesidesData({ source, destination }: Clusters): StartRequestBody['carry'] {
  const zones = Object.fromEntries(source.shardIds.map((id, at) => [id, destination.shardIds.at(-1 - at) ?? id]));
  return ['usersAndRoles', 'balancing', 'defaultConcerns', { zones }];
}

/** A role, a user with it, a zone of the first shard, a collection that is not balanced, a default read concern. */
export async function makeBesidesData(client: MongoClient, { shardIds }: TestCluster): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'besides' });
  await admin.command({ shardCollection: namespace, key: { _id: 'hashed' } });
  await client
    .db('besides')
    .collection('zoned')
    .insertMany(Array.from({ length: 20 }, (_, n) => ({ n })));
  await admin.command({ addShardToZone: shardIds[0], zone: 'first' });
  await admin.command({
    updateZoneKeyRange: namespace,
    min: { _id: new MinKey() },
    max: { _id: Long.ZERO },
    zone: 'first',
  });
  await client
    .db('config')
    .collection<{ _id: string }>('collections')
    .updateOne({ _id: namespace }, { $set: { noBalance: true } });
  await makeLogin(client, 'first');
  await admin.command({ setDefaultRWConcern: 1, defaultReadConcern: { level: 'majority' } });
}

/** One more role, and a user with it. */
export async function makeLogin(client: MongoClient, name: string): Promise<void> {
  const privileges = [{ resource: { db: 'besides', collection: '' }, actions: ['find'] }];
  await client.db('besides').command({ createRole: `${name}Role`, privileges, roles: [] });
  await client.db('besides').command({ createUser: `${name}User`, pwd: 'secret', roles: [`${name}Role`] });
}

/** Expects a cluster to have what `makeBesidesData` makes, once each. @param logins of `makeLogin` */
export async function expectBesidesData(
  client: MongoClient,
  zoned: string | undefined,
  logins: readonly string[] = ['first'],
): Promise<void> {
  const admin = client.db('admin');
  const stored = (name: string): Promise<Document[]> =>
    admin.collection(name).find({ db: 'besides' }).sort({ _id: 1 }).toArray();
  expect((await stored('system.roles')).map(({ role }) => role as unknown)).toEqual(
    logins.map((name) => `${name}Role`),
  );
  expect((await stored('system.users')).map(({ user }) => user as unknown)).toEqual(
    logins.map((name) => `${name}User`),
  );
  const config = client.db('config');
  expect(await config.collection('tags').find({ ns: namespace }).toArray()).toMatchObject([{ tag: 'first' }]);
  const shards = await config.collection<{ _id: string; tags?: string[] }>('shards').find({ tags: 'first' }).toArray();
  expect(shards.map(({ _id }) => _id)).toEqual([zoned]);
  expect(await config.collection<{ _id: string }>('collections').findOne({ _id: namespace })).toMatchObject({
    noBalance: true,
  });
  expect(await admin.command({ getDefaultRWConcern: 1 })).toMatchObject({ defaultReadConcern: { level: 'majority' } });
}
