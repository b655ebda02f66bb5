import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { parseRedisSettings } from '../../src/config/redis-config.js';
import type { FleetDirector } from '../../src/director/fleet-director.js';
import type { RedisSettings } from '../../src/redis/redis-settings.js';
import { directorOver, TestMembers, shortTimings, silent, until } from './fleet-of-tests.js';
import type { TestMember } from './fleet-of-tests.js';
import { startClusterRedis, startSentinelRedis, startTlsRedis } from './redis-layouts.js';
import { fleetName, hasRedisBinary, startOwnRedis } from './redis-server.js';

const documentation = fileURLToPath(new URL('../../../../docs/reference/configuration.md', import.meta.url));

/** Connecting takes time in a cluster, over TLS and during a failover. */
const timings = { ...shortTimings, redisCall_ms: 5_000 };

/** Two instances and a coordinator on one Redis. */
interface SmallFleet extends AsyncDisposable {
  readonly members: readonly TestMember[];
  readonly director: FleetDirector;
  readonly handled: string[];
}

async function startFleet(settings: RedisSettings, fleet = fleetName()): Promise<SmallFleet> {
  const group = new TestMembers(settings, fleet);
  const handled: string[] = [];
  const members = await Promise.all(['shard0', 'shard1'].map((id) => group.join(id, timings)));
  for (const { fleet: member, identity } of members) {
    member.serve(({ name }) => {
      handled.push(`${identity.id} ${name}`);
      return Promise.resolve({ success: true });
    });
  }
  const director = directorOver({ redis: settings, fleet, logger: silent, timings }, 60_000).director;
  await director.fleet.open();
  return {
    members,
    director,
    handled,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([group.end(), director.fleet.close()]);
    },
  };
}

/** Checks that reports, leader, DDL watermark and commands reach everybody. */
async function expectWorks({ members, director, handled }: SmallFleet, step: string): Promise<void> {
  const [one, other] = members as [TestMember, TestMember];
  for (const { fleet, identity } of members) fleet.report(idleReport(identity, { step }));
  for (const [watching, id] of [
    [one, 'shard1'],
    [other, 'shard0'],
  ] as const) {
    await until(watching.fleet, 'the report', () => watching.fleet.reports().get(id)?.report.step === step);
    await until(watching.fleet, 'the leader', () => watching.fleet.leader() !== null);
  }
  // A message published during a resubscription is lost; the next one arrives.
  let heard = false;
  const unwatch = other.fleet.watch((news) => {
    heard ||= news.has('ddlWatermark');
  });
  const announcing = setInterval(() => one.fleet.announceDdlWatermark(), 50);
  await until(other.fleet, 'news of the DDL watermark', () => heard).finally(() => clearInterval(announcing));
  unwatch();
  await until(director, 'both', () => director.progress().instances.filter(({ reachable }) => reachable).length === 2);
  handled.length = 0;
  expect(Object.fromEntries((await director.command('pause', {})).results)).toEqual({
    shard0: { success: true },
    shard1: { success: true },
  });
  expect(handled.sort()).toEqual(['shard0 pause', 'shard1 pause']);
}

/** The user of the documentation's example. */
const few = { username: new Secret('convoy'), password: new Secret('secret'), keyPrefix: 'team:' };

const onRedis = it.skipIf(!hasRedisBinary);

onRedis('a fleet lives through the fail-over of a primary behind Sentinels', async () => {
  await using redis = await startSentinelRedis();
  await using fleet = await startFleet(redis.settings);
  await expectWorks(fleet, 'before');
  redis.primary.kill('SIGKILL');
  await redis.failedOver();
  await expectWorks(fleet, 'after');
});

onRedis('a fleet finds the next primary when its primary behind Sentinels is frozen', async () => {
  await using redis = await startSentinelRedis();
  await using fleet = await startFleet(redis.settings);
  await expectWorks(fleet, 'before');
  redis.primary.kill('SIGSTOP');
  await redis.failedOver();
  await expectWorks(fleet, 'after');
});

onRedis('a fleet lives on one node of a Redis Cluster, another fleet beside it', async () => {
  await using redis = await startClusterRedis();
  for (const node of redis.nodes)
    await node.call('ACL', 'SETUSER', ...documentedRights(), ...documentedClusterRights());
  const settings = { ...redis.settings, ...few };
  const name = fleetName();
  await using fleet = await startFleet(settings, name);
  await using beside = await startFleet(settings);
  await expectWorks(fleet, 'here');
  // Its instances have the same names.
  expect(beside.handled).toEqual([]);
  await expectWorks(beside, 'there');
  const counts = await Promise.all(
    redis.nodes.map(async (node) => (await node.keys(`team:{convoy:${name}}:*`)).length),
  );
  expect(counts.filter((count) => count > 0)).toHaveLength(1);
});

onRedis('a fleet speaks TLS, with certificates of both sides, and refuses a server that it does not know', async () => {
  await using redis = await startTlsRedis();
  const { url, sentinel, files: tls } = redis;
  const name = fleetName();
  await using fleet = await startFleet(parseRedisSettings({ url, tls }), name);
  await expectWorks(fleet, 'encrypted');
  const bySentinel = directorOver({
    redis: parseRedisSettings({ sentinels: [sentinel], primaryName: 'fleet', tls }),
    fleet: name,
    logger: silent,
    timings,
  }).director;
  await bySentinel.fleet.open();
  expect(bySentinel.instances()).toHaveLength(2);
  await bySentinel.fleet.close();
  const { certFile, keyFile } = tls;
  const stranger = directorOver({
    redis: parseRedisSettings({ url, tls: { certFile, keyFile } }),
    fleet: fleetName(),
    logger: silent,
    timings: shortTimings,
  }).director;
  await expect(stranger.fleet.open()).rejects.toMatchObject({ error: 'redisUnavailable' });
  await stranger.fleet.close();
});

/** The rights in the documentation, with its example prefix, fleet and password. */
function documentedRights(): string[] {
  const rule = /^ACL SETUSER (?<rule>convoy .*)$/m.exec(readFileSync(documentation, 'utf8'))?.groups?.['rule'];
  if (rule === undefined) throw new Error('the documentation has no rule');
  return rule.split(' ');
}

function documentedClusterRights(): string[] {
  const rights = /`(?<rights>\+cluster\S+ \+cluster\S+)`/.exec(readFileSync(documentation, 'utf8'))?.groups?.['rights'];
  if (rights === undefined) throw new Error('the documentation has no rights for a cluster');
  return rights.split(' ');
}

onRedis('a fleet does with the rights that the documentation names, below its prefix alone', async () => {
  const redis = await startOwnRedis();
  try {
    await redis.client.call('ACL', 'SETUSER', ...documentedRights());
    await using fleet = await startFleet({ ...redis.settings, ...few });
    await expectWorks(fleet, 'with few rights');
    const keys = await redis.client.keys('*');
    expect(keys.length).toBeGreaterThan(4);
    expect(keys.filter((key) => !key.startsWith('team:{convoy:'))).toEqual([]);
    const refusals = (await redis.client.call('ACL', 'LOG')) as unknown[];
    expect(refusals).toEqual([]);
  } finally {
    await redis.close();
  }
});
