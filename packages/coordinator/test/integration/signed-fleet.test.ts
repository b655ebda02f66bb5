import { Queue } from 'bullmq';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import { startRequestSchema } from '@convoy/api/contract/start-request';
import type { FleetCommand } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import type { FleetDirector } from '../../src/director/fleet-director.js';
import type { RedisConsole } from '../../src/fleet/redis-console.js';
import { encodeReport } from '../../src/fleet/report-message.js';
import { testNotification } from '../../src/notifications/notification.js';
import { type Delivery, deliveryKey } from '../../src/notifications/outbox.js';
import { fleetKeys } from '../../src/redis/keys.js';
import {
  directorOver,
  makeIdentity,
  shortTimings,
  silent,
  type TestMember,
  TestMembers,
  until,
} from './fleet-of-tests.js';
import { describeOnRedis, fleetName } from './redis-server.js';

const fleetSecret = new Secret('0123456789abcdef0123456789abcdef');

/** Somebody who can do everything in Redis, and does not know the secret. */
describeOnRedis('a signed fleet', (redis) => {
  let name: string;
  let group: TestMembers;
  let director: FleetDirector;
  let fleet: RedisConsole;
  let member: TestMember;
  const handled: FleetCommand[] = [];
  beforeEach(async () => {
    name = fleetName();
    handled.length = 0;
    group = new TestMembers(redis.settings, name, fleetSecret);
    ({ director, console: fleet } = directorOver({
      redis: redis.settings,
      fleet: name,
      fleetSecret,
      logger: silent,
      timings: shortTimings,
    }));
    await director.fleet.open();
    member = await group.join('shard0');
    member.fleet.serve((command) => {
      handled.push(command);
      return Promise.resolve({ success: true });
    });
    await until(director, 'the instance', () => director.snapshot().reports.size === 1);
  });
  afterEach(async () => {
    await Promise.all([group.end(), director.fleet.close()]);
  });

  async function withQueue<Result>(use: (queue: Queue) => Promise<Result>): Promise<Result> {
    const keys = fleetKeys(name, redis.settings.keyPrefix);
    const connection = redis.client.duplicate();
    const queue = new Queue(keys.queueName('shard0'), { connection, prefix: keys.queuePrefix });
    try {
      return await use(queue);
    } finally {
      await queue.close();
      connection.disconnect();
    }
  }

  /** Queues a job as BullMQ does, and waits for its return value. */
  function inject(jobId: string, data: unknown): Promise<unknown> {
    return withQueue(async (queue) => {
      await queue.add('commit', data, { jobId });
      const result = async (): Promise<unknown> => {
        const job = await queue.getJob(jobId);
        return job?.finishedOn === undefined ? undefined : ((job.returnvalue as unknown) ?? null);
      };
      await expect.poll(result).not.toBeUndefined();
      return result();
    });
  }

  it('takes commands of its coordinator', async () => {
    expect(await director.command('commit', {}, 'own')).toMatchObject({ success: true });
    expect(handled.map(({ commandId }) => commandId)).toEqual(['own']);
  });

  it('does not run a commit that somebody queues', async () => {
    const data = { name: 'commit', body: {}, expiresAt_ms: Date.now() + 3_600_000 };
    await inject('forged', data);
    await inject('sealed', { sealed: `convoy1 ${Date.now()} ${'A'.repeat(43)} ${JSON.stringify(data)}` });
    expect(handled).toEqual([]);
    const refused = { unsigned: 1, wrongSignature: 1, outdated: 0 };
    expect(Object.fromEntries(member.fleet.refusedMessages()), 'counted where they are refused').toEqual(refused);
    expect(member.fleet.warnings()).toEqual([expect.objectContaining({ name: 'messagesRefused' })]);
  });

  it('runs a command once, also when its job is queued again or under another id', async () => {
    await director.command('commit', {}, 'once');
    const data: unknown = await withQueue(async (queue) => {
      const job = await queue.getJob('once');
      const sent: unknown = job?.data;
      await job?.remove();
      return sent;
    });
    await inject('once', data);
    await inject('again', data);
    expect(handled.map(({ commandId }) => commandId)).toEqual(['once']);
  });

  it('neither sends nor keeps a notification that somebody puts into the outbox', async () => {
    const settings = { lag: { raise_seconds: 300, clear_seconds: 60 }, oplog: { raise_seconds: 1, clear_seconds: 2 } };
    const deliveryOf = (id: string): Delivery => ({
      receiver: 'pager',
      notification: testNotification({ fleet: name, settings }, id, Date.now()),
      attempts: 0,
      due_ms: Date.now(),
    });
    const { deliveries } = fleetKeys(name, redis.settings.keyPrefix);
    const own = deliveryOf('own');
    await fleet.outbox.record({ event: 'ready', status: 'raised' }, [own]);
    const sealed = (await redis.client.hget(deliveries, deliveryKey(own))) ?? '';
    await redis.client.hset(deliveries, {
      [deliveryKey(deliveryOf('forged'))]: JSON.stringify(deliveryOf('forged')),
      [deliveryKey(deliveryOf('moved'))]: sealed,
    });
    expect(await fleet.outbox.waiting()).toEqual([own]);
    expect(await redis.client.hkeys(deliveries)).toEqual([deliveryKey(own)]);
  });

  it('answers no question that somebody else asks', async () => {
    const topic = 'sourceListing';
    const request = startRequestSchema.parse({ source: 'cluster0', destination: 'cluster1' });
    await director.fleet.ask(topic, { id: 'own', request });
    expect(await member.fleet.question(topic)).toMatchObject({ id: 'own' });
    const forged = JSON.stringify({ id: 'forged', request });
    await redis.client.set(fleetKeys(name, redis.settings.keyPrefix).question(topic), forged);
    expect(await member.fleet.question(topic)).toBeNull();
  });

  it('does not believe a report that says all are ready', async () => {
    const keys = fleetKeys(name, redis.settings.keyPrefix);
    const honest = director.snapshot().reports.get('shard0')?.report;
    const forged = { ...idleReport(makeIdentity('shard1')), ready: { canCommit: true, canWrite: true } };
    const own = { ...idleReport(member.identity), ready: { canCommit: true, canWrite: true } };
    const before = director.fleet.refusedMessages().get('unsigned') ?? 0;
    for (const report of [forged, own]) {
      const text = encodeReport(report, Date.now(), 1_000);
      await redis.client.set(keys.report(report.identity.id), text);
      await redis.client.zadd(keys.members, Date.now(), report.identity.id);
      await redis.client.zadd(keys.news, Date.now(), report.identity.id);
      await redis.client.publish(keys.reportsChannel, text);
    }
    const refused = (): number => (director.fleet.refusedMessages().get('unsigned') ?? 0) - before;
    await expect.poll(refused).toBeGreaterThanOrEqual(2);
    expect([...director.snapshot().reports.keys()]).toEqual(['shard0']);
    expect(director.snapshot().reports.get('shard0')?.report.ready).toEqual(honest?.ready);
    expect(director.snapshot().redisWarnings).toEqual([expect.objectContaining({ name: 'messagesRefused' })]);
  });
});
