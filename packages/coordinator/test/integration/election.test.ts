import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { openRedisProxy } from './redis-proxy.js';
import type { RedisProxy } from './redis-proxy.js';
import { TestMembers, until } from './fleet-of-tests.js';
import type { TestMember } from './fleet-of-tests.js';
import { describeOnRedis, fleetName } from './redis-server.js';

describeOnRedis('election', (redis) => {
  let way: RedisProxy;
  const groups: TestMembers[] = [];
  const membersOf = (fleet: string, settings = redis.settings): TestMembers => {
    const members = new TestMembers(settings, fleet);
    groups.push(members);
    return members;
  };
  beforeAll(async () => {
    way = await openRedisProxy(redis.settings);
  });
  afterEach(async () => {
    await Promise.all(groups.splice(0).map((group) => group.end()));
    way.mend();
  });
  afterAll(() => way.close());

  const leaders = (members: readonly TestMember[]): TestMember[] => members.filter(({ fleet }) => fleet.isLeader());

  it('gives a fleet one leader that all instances know', async () => {
    const group = membersOf(fleetName());
    const members = await Promise.all(['shard0', 'shard1', 'shard2'].map((id) => group.join(id)));
    for (const { fleet } of members) await until(fleet, 'a leader', () => fleet.leader() !== null);
    const [leader, ...others] = leaders(members);
    expect(others).toEqual([]);
    for (const { fleet } of members) {
      expect(fleet.leader()).toEqual({ id: leader?.identity.id, syncID: leader?.identity.syncID });
    }
  });

  it('replaces a stopping leader immediately, even with a long lease', async () => {
    const group = membersOf(fleetName());
    // Longer than any wait of a test, so a candidate that waits for expiry fails.
    const timings = { leaderLease_ms: 600_000 };
    const first = await group.join('shard0', timings);
    await until(first.fleet, 'a leader', () => first.fleet.isLeader());
    const second = await group.join('shard1', timings);
    await until(second.fleet, 'the leader', () => second.fleet.leader()?.id === 'shard0');
    await first.fleet.leave();
    await until(second.fleet, 'the take-over', () => second.fleet.isLeader());
    expect(second.fleet.leader()?.id).toBe('shard1');
  });

  it('moves away from an instance that the migration does not need', async () => {
    const group = membersOf(fleetName());
    const extra = await group.join('extra');
    await until(extra.fleet, 'a leader', () => extra.fleet.isLeader());
    const member = await group.join('shard0');
    await until(member.fleet, 'the leader', () => member.fleet.leader()?.id === 'extra');
    member.fleet.report(idleReport(member.identity, { state: 'RUNNING', expectedIds: ['shard0'] }));
    await until(member.fleet, 'the hand-over', () => member.fleet.isLeader());
    expect(extra.fleet.isLeader()).toBe(false);
    await until(extra.fleet, 'the new leader', () => extra.fleet.leader()?.id === 'shard0');
  });

  it('replaces a dead leader after its lease, and never has two', async () => {
    const name = fleetName();
    const first = await membersOf(name, way.settings).join('shard0');
    await until(first.fleet, 'a leader', () => first.fleet.isLeader());
    const second = await membersOf(name).join('shard1');
    const third = await membersOf(name).join('shard2');
    await until(second.fleet, 'the leader', () => second.fleet.leader()?.id === 'shard0');
    await until(third.fleet, 'the leader', () => third.fleet.leader()?.id === 'shard0');
    let both = false;
    for (const { fleet } of [first, second, third])
      fleet.watch(() => (both ||= leaders([first, second, third]).length > 1));
    way.cut();
    await until(second.fleet, 'the take-over', () => ![undefined, 'shard0'].includes(second.fleet.leader()?.id));
    expect(first.fleet.isLeader()).toBe(false);
    way.mend();
    await until(first.fleet, 'the new leader', () => ![undefined, 'shard0'].includes(first.fleet.leader()?.id));
    expect(both).toBe(false);
  });
});
