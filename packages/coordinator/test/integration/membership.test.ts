import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openRedisProxy } from './redis-proxy.js';
import type { RedisProxy } from './redis-proxy.js';
import { FleetDirector } from '../../src/director/fleet-director.js';
import { EventLog, TestMembers, makeIdentity, makeReport, shortTimings, silent, until } from './fleet-of-tests.js';
import { fleetName, hasRedis, openRedis, withoutRedis } from './redis-server.js';
import type { TestRedis } from './redis-server.js';

describe.skipIf(!hasRedis)(hasRedis ? 'membership' : `membership ${withoutRedis}`, () => {
  let redis: TestRedis;
  const groups: TestMembers[] = [];
  const proxies: RedisProxy[] = [];
  const membersOf = (fleet: string, settings = redis.settings): TestMembers => {
    const members = new TestMembers(settings, fleet);
    groups.push(members);
    return members;
  };
  const proxy = async (): Promise<RedisProxy> => {
    const made = await openRedisProxy(redis.settings);
    proxies.push(made);
    return made;
  };
  beforeAll(async () => {
    redis = await openRedis();
  });
  afterEach(async () => {
    await Promise.all(groups.splice(0).map((group) => group.end()));
    await Promise.all(proxies.splice(0).map((made) => made.close()));
  });
  afterAll(() => redis.close());

  it('shows every instance the reports of all', async () => {
    const members = membersOf(fleetName());
    const joined = await Promise.all(['shard0', 'shard1', 'shard2'].map((id) => members.join(id)));
    for (const { fleet } of joined) {
      await until(fleet, 'three reports', () => fleet.reports().size === 3);
      expect([...fleet.reports().values()].every(({ fresh }) => fresh)).toBe(true);
    }
  });

  it('shows one who joins late what was reported before', async () => {
    const members = membersOf(fleetName());
    const first = await members.join('shard0', { keepAlive_ms: 300 });
    const late = await members.join('shard1');
    await until(late.fleet, 'the stored report', () => late.fleet.reports().has('shard0'));
    expect(late.fleet.reports().get('shard0')?.report).toEqual(makeReport(first.identity));
  });

  it('keeps two fleets on one Redis apart', async () => {
    const [left, right] = [membersOf(fleetName()), membersOf(fleetName())];
    const one = await left.join('shard0');
    const other = await right.join('shard0');
    await until(one.fleet, 'its leader', () => one.fleet.isLeader());
    await until(other.fleet, 'its leader', () => other.fleet.isLeader());
    expect(one.fleet.reports().get('shard0')?.report.identity).toEqual(one.identity);
    expect(other.fleet.reports().get('shard0')?.report.identity).toEqual(other.identity);
  });

  it('refuses a second process under a living id', async () => {
    const members = membersOf(fleetName());
    await members.join('shard0');
    await expect(members.make().join(makeIdentity('shard0'))).rejects.toMatchObject({ error: 'identityTaken' });
  });

  it('takes the id of a process that left at once, and of one that died after its lease', async () => {
    const name = fleetName();
    const way = await proxy();
    const first = await membersOf(name).join('shard0');
    await first.fleet.leave();
    const second = await membersOf(name, way.settings).join('shard0');
    expect(second.fleet.reports().size).toBe(1);
    way.cut();
    const third = await membersOf(name).join('shard0');
    await until(third.fleet, 'leader', () => third.fleet.isLeader());
  });

  it('marks a report as old once its instance is silent, and at once when it leaves', async () => {
    const name = fleetName();
    const way = await proxy();
    const watcher = await membersOf(name).join('shard0');
    const dying = await membersOf(name, way.settings).join('shard1');
    const leaving = await membersOf(name).join('shard2', { identityLease_ms: 60_000 });
    const isFresh = (id: string): boolean | undefined => watcher.fleet.reports().get(id)?.fresh;
    await until(watcher.fleet, 'both', () => isFresh('shard1') === true && isFresh('shard2') === true);
    way.cut();
    await leaving.fleet.leave();
    await until(watcher.fleet, 'the one that left', () => isFresh('shard2') === false);
    await until(watcher.fleet, 'the silent one', () => isFresh('shard1') === false);
    expect(watcher.fleet.reports().get('shard1')?.report).toEqual(makeReport(dying.identity));
    way.mend();
    await until(watcher.fleet, 'its return', () => isFresh('shard1') === true);
  });

  it('stops the process whose id another has taken, until it is free again', async () => {
    const name = fleetName();
    const way = await proxy();
    const log = new EventLog();
    const handled: string[] = [];
    const first = await membersOf(name, way.settings).join('shard0', {}, log.logger);
    first.fleet.serve(({ commandId }) => {
      handled.push(commandId);
      return Promise.resolve({ success: true });
    });
    await until(first.fleet, 'leader', () => first.fleet.isLeader());
    way.cut();
    await log.until('leaderLost');
    const second = await membersOf(name).join('shard0');
    await until(second.fleet, 'leader', () => second.fleet.isLeader());
    way.mend();
    await log.until('identityTaken');
    expect(first.fleet.isLeader()).toBe(false);
    await second.fleet.leave();
    await log.until('identityRegained');
    await until(first.fleet, 'the return', () => first.fleet.isLeader());
    const director = new FleetDirector({ redis: redis.settings, fleet: name, logger: silent, timings: shortTimings });
    await director.open();
    await director.command('pause', {}, 'again');
    await director.close();
    expect(handled).toEqual(['again']);
  });

  it('publishes a flood of reports as a trickle, the last one included', async () => {
    const name = fleetName();
    const members = membersOf(name);
    const sender = await members.join('shard0', { publishGap_ms: 50 });
    const receiver = await members.join('shard1');
    await until(receiver.fleet, 'the first report', () => receiver.fleet.reports().has('shard0'));
    const subscriber = redis.client.duplicate();
    let published = 0;
    await subscriber.subscribe(`{convoy:${name}}:reports`);
    subscriber.on('message', (_channel: string, text: string) => {
      if (text.includes('"id":"shard0"')) published += 1;
    });
    const startedAt_ms = performance.now();
    for (let at = 0; at < 500; at += 1) {
      sender.fleet.report(makeReport(sender.identity, { step: `step ${at}` }));
      if (at % 10 === 0) await new Promise(setImmediate);
    }
    await until(receiver.fleet, 'the last report', () => receiver.fleet.reports().get('shard0')?.report.step === 'step 499');
    const elapsed_ms = performance.now() - startedAt_ms;
    expect(published).toBeLessThanOrEqual(3 + elapsed_ms / 50);
    subscriber.disconnect();
  });

  it('tells peers of a nudge, and not the one who nudges', async () => {
    const members = membersOf(fleetName());
    const [one, other] = [await members.join('shard0'), await members.join('shard1')];
    await until(one.fleet, 'both', () => one.fleet.reports().size === 2 && one.fleet.leader() !== null);
    await until(other.fleet, 'both', () => other.fleet.reports().size === 2 && other.fleet.leader() !== null);
    let own = 0;
    one.fleet.watch(() => (own += 1));
    const told = new Promise<void>((resolve) => other.fleet.watch(resolve));
    one.fleet.nudge();
    await told;
    expect(own).toBe(0);
  });
});
