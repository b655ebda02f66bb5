import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { preflight } from '../../../src/lifecycle/instance/answer-questions.js';
import { requestOf } from '../../unit/preflight/fixture.js';
import { Fixture, type Side } from './fixture.js';
import { refuses, startBody } from './start-conditions.js';

/** A user of the shards who may do all that the copy does, but for reading shards without their router. */
const reader = { user: 'reader', password: 'secret' };
const roles = ['readAnyDatabase', 'clusterMonitor', 'backup'];
const directRole = 'directShardOperations';
const reversible = { enableUserWriteBlocking: true, reversible: true };

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  for (const side of [fixture.cluster0, fixture.cluster1])
    await onShards(side, { createUser: reader.user, pwd: reader.password, roles });
});

afterAll(() => fixture.close());

afterEach(async () => {
  for (const side of [fixture.cluster0, fixture.cluster1])
    await onShards(side, { updateUser: reader.user, pwd: reader.password, roles });
  await fixture.clear();
});

async function onShards({ client }: Side, command: object): Promise<void> {
  const { shards } = await client.db('admin').command({ listShards: 1 });
  for (const { host } of shards as { host: string }[]) {
    const [, address = ''] = host.split('/');
    await using shard = new MongoClient(`mongodb://root:secret@${address}/?directConnection=true&authSource=admin`);
    await shard.db('admin').command(command);
  }
}

const grant = (side: Side) => onShards(side, { grantRolesToUser: reader.user, roles: [directRole] });

/** A sharded collection: its indexes are read from each shard. */
async function load(): Promise<void> {
  const { client } = fixture.cluster0;
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
}

function settings(sourceAccess: string): object {
  return { sourceAccess, shards: { cluster0: reader, cluster1: reader } };
}

async function check(sourceAccess: string, request: object = {}) {
  const { cluster0, cluster1 } = fixture;
  const config = parseInstanceConfig({
    flags: {
      cluster0: cluster0.connectionString,
      cluster1: cluster1.connectionString,
      ...settings(sourceAccess),
    },
  });
  const report = await preflight(config, requestOf(request), AbortSignal.timeout(60_000));
  const failed = report.items.filter(({ result }) => result === 'failed');
  return { ...report, failed: failed.map(({ check: name, error }) => `${name}: ${error}`) };
}

describe('a user of the shards without the role for direct reads (8.0)', () => {
  it('with auto, the source is read through its router, with a warning that names the role', async () => {
    await load();
    await using instance = await fixture.startInstance(settings('auto'));
    await instance.migrate(startBody());
    const { warnings } = await instance.progress();
    expect(warnings?.filter(({ name }) => name === 'sourceReadThroughRouter')).toMatchObject([
      { description: expect.stringContaining(`its user lacks the role ${directRole}`) as string },
    ]);
    expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(3);
  });

  it('with direct, the start is refused with the name of the role, and accepted once it is granted', async () => {
    await load();
    await using instance = await fixture.startInstance(settings('direct'));
    await refuses(fixture, instance, startBody(), {
      status: 422,
      error: 'shardsNotReachable',
      says: /shard0 of cluster0 .*lacks the role directShardOperations.*grantRolesToUser/,
    });
    await grant(fixture.cluster0);
    await instance.migrate(startBody());
  });

  it('is one finding of a check among all others', async () => {
    await load();
    await fixture.cluster1.client.db('shop').collection('orders').insertOne({ n: 1 });
    const { canStart, failed, items } = await check('direct');
    expect(canStart).toBe(false);
    expect(failed).toEqual(['clusters: shardsNotReachable', 'destination: destinationNotEmpty']);
    expect(items[0]?.description).toContain(directRole);
    expect(items.map(({ check: name }) => name)).toContain('oplogWindow');
  });

  it("refuses a reversible migration whose way back would read the destination's shards", async () => {
    await load();
    await grant(fixture.cluster0);
    await using instance = await fixture.startInstance(settings('direct'));
    await refuses(fixture, instance, startBody(reversible), {
      status: 422,
      error: 'shardsNotReachable',
      says: /shard0 of cluster1 .*lacks the role directShardOperations/,
    });
    expect((await check('direct', reversible)).failed).toEqual(['privileges: shardsNotReachable']);
    await grant(fixture.cluster1);
    await instance.accepted('start', startBody(reversible));
  });

  it("refuses a reversible migration if the destination's shards lack another privilege of the way back", async () => {
    await load();
    for (const side of [fixture.cluster0, fixture.cluster1]) await grant(side);
    await onShards(fixture.cluster1, {
      createRole: 'streams',
      roles: [],
      privileges: [
        { resource: { db: '', collection: '' }, actions: ['find', 'changeStream'] },
        { resource: { cluster: true }, actions: ['useUUID'] },
      ],
    });
    await onShards(fixture.cluster1, {
      updateUser: reader.user,
      pwd: reader.password,
      roles: ['streams', directRole],
    });
    await using instance = await fixture.startInstance(settings('auto'));
    await refuses(fixture, instance, startBody(reversible), {
      status: 422,
      error: 'permissionMissing',
      says: /shard0 of cluster1 lacks listIndexes on every database/,
    });
  });
});
