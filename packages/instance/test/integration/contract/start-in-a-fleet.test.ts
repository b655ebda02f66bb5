import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import type { ServedInstance } from './served-instance.js';
import { accepts, refuses, startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({});
});

afterEach(() => fixture.clear());

const filtered = startBody({ includeNamespaces: [{ database: 'shop' }, { database: 'other' }] });

/** Once it waits for a peer and has started its history, it changes nothing more. */
async function restsFor(instance: ServedInstance, id: string): Promise<void> {
  await waitsFor(instance, id);
  await expect.poll(() => fixture.cluster1.client.db('convoy_metadata').collection('history').countDocuments()).toBe(1);
}

function waitsFor(instance: ServedInstance, id: string): Promise<unknown> {
  return instance.until(`it waits for ${id}`, ({ state, warnings }) => {
    return (
      state === 'RUNNING' &&
      warnings?.some(({ name, description }) => name === 'waitingForInstances' && description.includes(id)) === true
    );
  });
}

describe('instances of one fleet that are started by hand', () => {
  it('refuses other options than its peer was started with and names them, while the peer still waits', async () => {
    await using first = await fixture.startInstance({ id: 'shard0' });
    await using second = await fixture.startInstance({ id: 'shard1' });
    await accepts(first, filtered);
    await restsFor(first, 'shard1');

    const before = await fixture.cluster1.contents();
    const wrong = startBody({ includeNamespaces: [{ database: 'shop' }], buildIndexes: 'never' });
    const { status, body } = await second.command('start', wrong);
    expect(status).toBe(409);
    expect(body).toMatchObject({ success: false, error: 'optionsDiffer' });
    expect(body.errorDescription).toMatch(/buildIndexes/);
    expect(body.errorDescription).toMatch(/includeNamespaces/);
    expect((await second.progress()).state).toBe('IDLE');
    expect(await fixture.cluster1.contents()).toEqual(before);
    await waitsFor(first, 'shard1');
  });

  it('takes the same options in another order for the same request', async () => {
    await using first = await fixture.startInstance({ id: 'shard0' });
    await using second = await fixture.startInstance({ id: 'shard1' });
    await accepts(first, filtered);
    await accepts(second, {
      ...filtered,
      reversible: false,
      includeNamespaces: [{ database: 'other' }, { database: 'shop' }],
    });
  });

  it('refuses a destination that holds a migration from another source', async () => {
    await using elsewhere = await Fixture.open({ shards: 2 }, 'replicaSet');
    await using first = await fixture.startInstance({ id: 'shard0' });
    await using stranger = await fixture.startInstance({ id: 'shard1', cluster0: elsewhere.cluster0.connectionString });
    await accepts(first, startBody());
    await restsFor(first, 'shard1');
    const before = await fixture.cluster1.contents();
    const reply = await stranger.command('start', startBody());
    expect([reply.status, reply.body.error]).toEqual([409, 'migrationExists']);
    expect((await stranger.progress()).state).toBe('IDLE');
    expect(await fixture.cluster1.contents()).toEqual(before);
    await stranger.close();

    await using restarted = await fixture.launchInstance({
      id: 'shard1',
      cluster0: elsewhere.cluster0.connectionString,
    });
    await expect
      .poll(async () => String((await restarted.progressReply()).body.error), { interval: 20 })
      .toBe('wrongCluster');
    expect((await restarted.progressReply()).status).toBe(409);
    await restarted.close();

    await using peer = await fixture.startInstance({ id: 'shard1' });
    await accepts(peer, startBody());
  });

  it('refuses an id that is no shard of the source', async () => {
    {
      await using instance = await fixture.startInstance({ id: 'shard7' });
      await refuses(fixture, instance, startBody(), { status: 422, error: 'shardUnknown', says: /shard0, shard1/ });
    }
    await using instance = await fixture.startInstance({ id: 'shard1' });
    await accepts(instance, startBody());
  });

  it('does not begin with a connection string of another user than syncUser', async () => {
    const failure = fixture.startInstance({ syncUser: 'sync-user' });
    await expect(failure).rejects.toMatchObject({ error: 'syncUserMismatch' });
    await expect(failure).rejects.not.toThrow(/sync-user|127\.0\.0\.1/);
    expect(await fixture.cluster1.databases()).toEqual([]);
    await using instance = await fixture.startInstance();
    await accepts(instance, startBody());
  });
});
