import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { cleanUp, type CleanupPlan } from '../../../src/lifecycle/instance/clean-up.js';
import { unblock } from '../../../src/lifecycle/instance/unblock.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { presentBlocking } from '../contract/releases.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';

const { signal } = new AbortController();
const blocking = startBody({ enableUserWriteBlocking: true });
/** Without running processes this passes in full; otherwise their answer ends it. */
const silence_ms = 1_000;
const patience_ms = 60_000;

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { ...presentBlocking, withUsers: true });
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }]);
  for (const { client } of sides()) await client.db('admin').command({ balancerStart: 1 });
});

afterEach(async () => {
  for (const side of sides()) await side.allowWrites();
  await fixture.clear();
});

function sides(): Side[] {
  return [fixture.cluster0, fixture.cluster1];
}

function config(cluster0 = fixture.cluster0.connectionString) {
  return parseInstanceConfig({ flags: { cluster0, cluster1: fixture.cluster1.connectionString } });
}

/** Cleans up what was migrated to cluster1. @returns the plan, and whether it was executed */
async function clean({ yes = true, from = config(), answerWithin_ms = silence_ms } = {}): Promise<{
  plan: CleanupPlan | undefined;
  done: boolean;
}> {
  let plan: CleanupPlan | undefined;
  const agree = (shown: CleanupPlan): Promise<boolean> => {
    plan = shown;
    return Promise.resolve(yes);
  };
  const done = await cleanUp(from, 'cluster1', agree, signal, { answerWithin_ms });
  return { plan, done };
}

async function settings({ client, shopper }: Side): Promise<{ balancer: unknown; writes: boolean }> {
  const balancer = (await client.db('admin').command({ balancerStatus: 1 })).mode as unknown;
  const orders = shopper.db('shop').collection('probe');
  const writes = await orders.insertOne({}).then(
    () => true,
    () => false,
  );
  if (writes) await orders.drop();
  return { balancer, writes };
}

const open = { balancer: 'full', writes: true };

async function begin(body: object, flags: object = {}): Promise<ServedInstance> {
  const instance = await fixture.startInstance(flags);
  await instance.accepted('start', body);
  await instance.untilCanCommit();
  return instance;
}

/** Of the leader and of the sync task. */
async function epochs(): Promise<number[]> {
  const metadata = fixture.cluster1.client.db('convoy_metadata');
  const record = await metadata.collection('migration').findOne();
  const task = await metadata.collection('tasks').findOne();
  return [record?.['leaderEpoch'], task?.['epoch']].map(Number);
}

async function untilFailed(instance: ServedInstance): Promise<void> {
  await expect.poll(async () => (await instance.progressReply()).status, { interval: 20 }).toBe(409);
}

describe('a cleanup', () => {
  it('has nothing to do if nothing was migrated', async () => {
    expect(await clean()).toEqual({ plan: { found: null, steps: [], remarks: [] }, done: true });
  });

  it('removes the metadata of a committed migration, whose source may be gone, and a new one can start', async () => {
    const first = await begin(blocking);
    await first.accepted('commit');
    await first.untilState('COMMITTED');
    const { plan, done } = await clean({ from: config('mongodb://127.0.0.1:1/') });
    expect({ ...plan, steps: plan?.steps.map(({ description }) => description), done }).toEqual({
      found: 'The migration from cluster0 to cluster1 is committed.',
      steps: ['Drop all collections of convoy_metadata on cluster1.'],
      remarks: ['The block of user writes on cluster0 stays as it is; to lift it, run: convoy unblock cluster0'],
      done: true,
    });
    expect(await fixture.cluster1.databases()).toEqual(['shop']);
    await expect
      .poll(() => first.progress())
      .toMatchObject({ state: 'COMMITTED', canWrite: true, metadataRemoved: true });
    await first.close();
    expect([await settings(fixture.cluster0), await settings(fixture.cluster1)]).toEqual([
      { ...open, writes: false },
      open,
    ]);
    await unblock(config(), 'cluster0', signal);
    expect(await settings(fixture.cluster0)).toEqual(open);
    await using second = await fixture.startInstance();
    expect((await second.progress()).state).toBe('IDLE');
  });

  it('is what a start over the remains of an old migration is refused with', async () => {
    const first = await begin(startBody());
    await first.accepted('commit');
    await first.untilState('COMMITTED');
    await first.close();
    await using second = await fixture.startInstance({
      cluster0: fixture.cluster1.connectionString,
      cluster1: fixture.cluster0.connectionString,
    });
    await fixture.cluster0.client.db('convoy_metadata').collection('tasks').insertOne({ n: 1 });
    await fixture.cluster0.client.db('shop').dropDatabase();
    const { status, body } = await second.command('start', startBody());
    expect({ status, error: body.error as unknown }).toEqual({ status: 409, error: 'migrationExists' });
    expect(body.errorDescription).toMatch(/convoy cleanup/);
  });

  it('names what a cluster refuses, and what to do about it, and can be repeated', async () => {
    const instance = await begin(blocking);
    await instance.close();
    const { client } = fixture.cluster1;
    const data = { failCommands: ['setUserWriteBlockMode'], errorCode: 13 };
    await client.db('admin').command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data });
    await expect(clean()).rejects.toMatchObject({
      error: 'writeBlockingFailed',
      errorDescription: expect.stringMatching(
        /^User writes on cluster1 could not be allowed again: Unauthorized.*Give the user .*setUserWriteBlockMode/,
      ) as unknown,
    });
    expect((await clean()).done).toBe(true);
    expect([await settings(fixture.cluster0), await settings(fixture.cluster1)]).toEqual([open, open]);
  });

  it('restores both clusters after a failed migration', async () => {
    await fixture.cluster0.client
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { n: 1 }, unique: true }]);
    await using instance = await begin(blocking, { retry_minutes: 0.05 });
    await fixture.cluster1.client.db('shop').collection('orders').insertOne({ n: 1 });
    await instance.accepted('commit');
    await untilFailed(instance);
    await expect.poll(async () => (await settings(fixture.cluster0)).writes).toBe(true);
    expect([await settings(fixture.cluster0), await settings(fixture.cluster1)]).toEqual([
      { balancer: 'off', writes: true },
      { balancer: 'off', writes: false },
    ]);
    const { plan, done } = await clean();
    expect(done).toBe(true);
    expect(plan?.found).toMatch(
      /^The migration from cluster0 to cluster1 has failed: verificationFailed: 1 difference .* in: shop\.orders\./,
    );
    expect(plan?.remarks).toEqual([expect.stringMatching(/stay on cluster1.*drop them before the next start/)]);
    expect([await settings(fixture.cluster0), await settings(fixture.cluster1)]).toEqual([open, open]);
    expect(await fixture.cluster1.databases()).toEqual(['shop']);
  });

  it('is refused while instances are running, even paused ones, and changes nothing then', async () => {
    await using instance = await begin(blocking);
    await expect(clean({ answerWithin_ms: patience_ms })).rejects.toMatchObject({
      error: 'migrationLives',
      errorDescription: expect.stringMatching(/shard[01].*stop all its instances/) as unknown,
    });
    await instance.accepted('pause');
    await expect(clean({ answerWithin_ms: patience_ms })).rejects.toMatchObject({ error: 'migrationLives' });
    await expect(unblock(config(), 'cluster1', signal)).rejects.toMatchObject({
      error: 'migrationLives',
      errorDescription: expect.stringMatching(/cluster1 is the destination/) as unknown,
    });
    await instance.accepted('resume');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
  });

  it('ends a migration whose instances have been stopped, once approved, and reverts what it started', async () => {
    const instance = await begin(blocking);
    await instance.close();
    const former = await epochs();
    const admin = fixture.cluster1.client.db('admin');
    await admin.command({ addShardToZone: 'shard1', zone: 'convoy_placement_1' });
    await admin.command({
      updateZoneKeyRange: 'shop.later',
      min: { _id: 1 },
      max: { _id: 2 },
      zone: 'convoy_placement_1',
    });
    expect((await clean({ yes: false })).done).toBe(false);
    expect(await fixture.cluster1.databases()).toContain('convoy_metadata');
    expect((await settings(fixture.cluster1)).writes).toBe(false);

    const { plan, done } = await clean();
    expect(done).toBe(true);
    expect(plan?.found).toMatch(/has not ended, and none of its instances is at work/);
    expect(plan?.steps.map(({ description }) => description)).toEqual([
      'Prevent frozen or isolated processes of the migration from writing.',
      'Start the balancer of cluster0, which was on before the migration.',
      'Start the balancer of cluster1, which was on before the migration.',
      'Allow the writes of users on cluster1.',
      'Remove 1 zone ranges of Convoy from cluster1.',
      'Drop all collections of convoy_metadata on cluster1.',
    ]);
    expect([await settings(fixture.cluster0), await settings(fixture.cluster1)]).toEqual([open, open]);
    const tags = fixture.cluster1.client.db('config');
    expect([
      await tags.collection('tags').countDocuments(),
      await tags.collection('shards').countDocuments({ tags: /convoy/ }),
    ]).toEqual([0, 0]);
    await fixture.cluster1.client.db('shop').dropDatabase();
    await using again = await fixture.startInstance();
    await again.migrate(blocking);
    expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(2);
    // A process of the first migration that was frozen all the time can write nothing in this one.
    for (const [index, epoch] of (await epochs()).entries()) expect(epoch).toBeGreaterThan(former[index] ?? NaN);
  });

  it('continues an interrupted cleanup', async () => {
    await fixture.cluster1.client.db('convoy_metadata').collection('tasks').insertOne({ n: 1 });
    const { plan, done } = await clean();
    expect([plan?.found, done]).toEqual(['Remains of a migration that was cleaned up before.', true]);
    expect(await fixture.cluster1.databases()).toEqual([]);
  });
});
