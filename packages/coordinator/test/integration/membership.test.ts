import { afterEach, expect, it } from 'vitest';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { openRedisProxy } from './redis-proxy.js';
import type { RedisProxy } from './redis-proxy.js';
import { directorOver, EventLog, TestMembers, makeIdentity, shortTimings, silent, until } from './fleet-of-tests.js';
import { describeOnRedis, fleetName } from './redis-server.js';

describeOnRedis('membership', (redis) => {
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
  afterEach(async () => {
    await Promise.all(groups.splice(0).map((group) => group.end()));
    await Promise.all(proxies.splice(0).map((made) => made.close()));
  });

  it('delivers the reports of all to every instance', async () => {
    const members = membersOf(fleetName());
    const joined = await Promise.all(['shard0', 'shard1', 'shard2'].map((id) => members.join(id)));
    for (const { fleet } of joined) {
      await until(fleet, 'three reports', () => fleet.reports().size === 3);
      expect([...fleet.reports().values()].every(({ fresh }) => fresh)).toBe(true);
    }
  });

  it('delivers earlier reports to an instance that joins late', async () => {
    const members = membersOf(fleetName());
    const first = await members.join('shard0', { keepAlive_ms: 300 });
    const late = await members.join('shard1');
    await until(late.fleet, 'the stored report', () => late.fleet.reports().has('shard0'));
    expect(late.fleet.reports().get('shard0')?.report).toEqual(idleReport(first.identity));
  });

  it('notifies every instance of a later DDL watermark, for any number of announcements', async () => {
    const members = membersOf(fleetName());
    const [one, other] = await Promise.all(['shard0', 'shard1'].map((id) => members.join(id)));
    if (one === undefined || other === undefined) throw new Error('there are two members');
    const heard = new Set<string>();
    for (const { fleet, identity } of [one, other]) {
      fleet.watch((news) => {
        if (news.has('ddlWatermark')) heard.add(identity.id);
      });
    }
    for (let moved = 1; moved <= 500; moved += 1) one.fleet.announceDdlWatermark();
    await until(other.fleet, 'news of the DDL watermark', () => heard.size === 2);
  });

  it('isolates two fleets on one Redis', async () => {
    const [left, right] = [membersOf(fleetName()), membersOf(fleetName())];
    const one = await left.join('shard0');
    const other = await right.join('shard0');
    await until(one.fleet, 'its leader', () => one.fleet.isLeader());
    await until(other.fleet, 'its leader', () => other.fleet.isLeader());
    expect(one.fleet.reports().get('shard0')?.report.identity).toEqual(one.identity);
    expect(other.fleet.reports().get('shard0')?.report.identity).toEqual(other.identity);
  });

  it('rejects a second process under a live id, and says meanwhile what it waits for', async () => {
    const members = membersOf(fleetName());
    await members.join('shard0');
    const log = new EventLog();
    const second = members.make({}, log.logger).join(makeIdentity('shard0'));
    await Promise.all([log.until('identityAwaited'), expect(second).rejects.toMatchObject({ error: 'identityTaken' })]);
  });

  it('frees the id of a leaving process immediately, and of a dead one after its lease', async () => {
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

  it('marks a report as stale once its instance is silent, and immediately when it leaves', async () => {
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
    expect(watcher.fleet.reports().get('shard1')?.report).toEqual(idleReport(dying.identity));
    way.mend();
    await until(watcher.fleet, 'its return', () => isFresh('shard1') === true);
  });

  it('does not count the heartbeat of a new process for its predecessor', async () => {
    const name = fleetName();
    const way = await proxy();
    const members = membersOf(name);
    const watcher = await members.join('shard0');
    const died = await membersOf(name, way.settings).join('shard1');
    const seen = (): { incarnation: string; fresh: boolean } | undefined => {
      const report = watcher.fleet.reports().get('shard1');
      return report && { incarnation: report.report.identity.incarnation, fresh: report.fresh };
    };
    await until(watcher.fleet, 'its report', () => seen()?.fresh === true);
    way.cut();
    await until(watcher.fleet, 'its silence', () => seen()?.fresh === false);
    const next = makeIdentity('shard1');
    const successor = members.make();
    await successor.join(next);
    // Notifications after its first heartbeat.
    await members.join('shard2');
    await until(watcher.fleet, 'a later report', () => watcher.fleet.reports().has('shard2'));
    expect(seen()).toEqual({ incarnation: died.identity.incarnation, fresh: false });
    successor.report(idleReport(next));
    await until(
      watcher.fleet,
      'its first report',
      () => seen()?.incarnation === next.incarnation && seen()?.fresh === true,
    );
  });

  it('stops a process whose id another one took over, until the id is free', async () => {
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
    const replaced = async (): Promise<boolean[]> =>
      Promise.all([first, second].map(({ fleet }) => fleet.isReplaced()));
    await expect.poll(replaced).toEqual([true, false]);
    await second.fleet.leave();
    await log.until('identityRegained');
    await expect.poll(replaced).toEqual([false, false]);
    await until(first.fleet, 'the return', () => first.fleet.isLeader());
    const director = directorOver({
      redis: redis.settings,
      fleet: name,
      logger: silent,
      timings: shortTimings,
    }).director;
    await director.fleet.open();
    await director.command('pause', {}, 'again');
    await director.fleet.close();
    expect(handled).toEqual(['again']);
  });

  it('throttles a flood of reports, and publishes the last one', async () => {
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
      sender.fleet.report(idleReport(sender.identity, { step: `step ${at}` }));
      if (at % 10 === 0) await new Promise(setImmediate);
    }
    await until(
      receiver.fleet,
      'the last report',
      () => receiver.fleet.reports().get('shard0')?.report.step === 'step 499',
    );
    const elapsed_ms = performance.now() - startedAt_ms;
    expect(published).toBeLessThanOrEqual(3 + elapsed_ms / 50);
    subscriber.disconnect();
  });

  it('replaces connections that silently lose everything', async () => {
    const name = fleetName();
    const way = await proxy();
    const stalled = await membersOf(name, way.settings).join('shard0');
    const other = await membersOf(name).join('shard1');
    await until(other.fleet, 'both', () => other.fleet.reports().get('shard0')?.fresh === true);
    const madeBefore = way.connectionsMade;
    way.stall();
    other.fleet.report(idleReport(other.identity, { step: 'after' }));
    // One for subscriptions and one for everything else.
    await expect.poll(() => way.connectionsMade).toBeGreaterThanOrEqual(madeBefore + 2);
    stalled.fleet.report(idleReport(stalled.identity, { step: 'again' }));
    await until(other.fleet, 'its return', () => other.fleet.reports().get('shard0')?.report.step === 'again');
    await until(stalled.fleet, 'what was missed', () => stalled.fleet.reports().get('shard1')?.report.step === 'after');
  });

  it('wakes all instances, the sender once', async () => {
    const members = membersOf(fleetName());
    const [one, other] = [await members.join('shard0'), await members.join('shard1')];
    await until(one.fleet, 'both', () => one.fleet.reports().size === 2 && one.fleet.leader() !== null);
    await until(other.fleet, 'both', () => other.fleet.reports().size === 2 && other.fleet.leader() !== null);
    let own = 0;
    one.fleet.watch((news) => (own += news.has('wake') ? 1 : 0));
    const reported = new Promise<void>((resolve) => other.fleet.watch((news) => news.has('wake') && resolve()));
    one.fleet.wake();
    await reported;
    expect(own).toBe(1);
  });
});
