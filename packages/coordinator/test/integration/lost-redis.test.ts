import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { systemTime } from '@convoy/api/time/time-source';
import type { FleetDirector } from '../../src/director/fleet-director.js';
import { CommandSender } from '../../src/fleet/command-sender.js';
import { RedisConnections } from '../../src/redis/connections.js';
import { fleetKeys } from '../../src/redis/keys.js';
import { FleetSignature } from '../../src/redis/signature.js';
import { directorOver, EventLog, shortTimings, silent, type TestMember, TestMembers, until } from './fleet-of-tests.js';
import { fleetName, hasRedisBinary, type OwnRedis, startOwnRedis } from './redis-server.js';

/** Time limit of a call to a Redis that takes no writes. */
const callLimit_ms = 3_000;
const skipped = 'needs a redis-server of its own on the PATH';

describe.skipIf(!hasRedisBinary)(hasRedisBinary ? 'a Redis that is lost' : `a Redis that is lost ${skipped}`, () => {
  let redis: OwnRedis;
  let fleet: string;
  let group: TestMembers;
  let director: FleetDirector;
  let members: TestMember[];
  /** Changes as seen by any of the members. */
  const anyMember = {
    watch: (listener: () => void): (() => void) => {
      const ends = members.map(({ fleet }) => fleet.watch(listener));
      return () => ends.forEach((end) => end());
    },
  };
  beforeEach(async () => {
    redis = await startOwnRedis();
    fleet = fleetName();
    group = new TestMembers(redis.settings, fleet);
    members = await Promise.all(['shard0', 'shard1'].map((id) => group.join(id)));
    director = directorOver(
      {
        redis: redis.settings,
        fleet,
        logger: silent,
        timings: { ...shortTimings, redisCall_ms: 3_000 },
      },
      60_000,
    ).director;
    await director.fleet.open();
    await until(director, 'both', () => director.snapshot().reports.size === 2 && director.snapshot().leader !== null);
    for (const { fleet: member } of members) await until(member, 'both', () => member.reports().size === 2);
  });
  afterEach(async () => {
    await Promise.all([group.end(), director.fleet.close()]);
    await redis.close();
  });

  /** Whether commands arrive again, each exactly once. */
  async function expectCommandsWork(): Promise<void> {
    const handled: string[] = [];
    for (const { fleet, identity } of members) {
      fleet.serve(() => {
        handled.push(identity.id);
        return Promise.resolve({ success: true });
      });
    }
    expect((await director.command('pause', {})).success).toBe(true);
    expect(handled.sort()).toEqual(['shard0', 'shard1']);
  }

  /** Whether the leases and stored reports exist again. */
  async function expectRebuilt(): Promise<void> {
    const [one, other] = members as [TestMember, TestMember];
    for (const [reporter, reader] of [
      [one, other],
      [other, one],
    ] as const) {
      reporter.fleet.report(idleReport(reporter.identity, { step: 'after' }));
      const read = (): string | null | undefined => reader.fleet.reports().get(reporter.identity.id)?.report.step;
      await until(reader.fleet, 'the report after', () => read() === 'after');
    }
    await until(anyMember, 'a leader', () => members.filter(({ fleet }) => fleet.isLeader()).length === 1);
    const late = await group.join('shard2');
    expect([...late.fleet.reports().keys()]).toEqual(expect.arrayContaining(['shard0', 'shard1']));
    await expect(group.make().join({ ...one.identity, incarnation: 'second' })).rejects.toMatchObject({
      error: 'identityTaken',
    });
    await late.fleet.leave();
  }

  it('recovers its state after FLUSHALL', async () => {
    await redis.client.flushall();
    await expectRebuilt();
  });

  it('delivers commands after FLUSHALL', async () => {
    await redis.client.flushall();
    await expectCommandsWork();
  });

  it('recovers its state after a restart', async () => {
    expect(director.progress().progress.warnings).toBeNull();
    await redis.stop();
    const cause = expect.stringMatching(/unreachable from this .* Cause: the connection was refused/) as string;
    const warnings = [{ name: 'redisUnavailable', description: cause }];
    await expect.poll(() => director.progress().progress).toMatchObject({ state: 'IDLE', warnings });
    for (const { fleet } of members) await expect.poll(() => fleet.warnings()).toEqual(warnings);
    await until(anyMember, 'no leader', () => members.every(({ fleet }) => !fleet.isLeader()));
    expect(members[0]?.fleet.reports().size).toBe(2);
    expect(director.progress().instances).toHaveLength(2);
    await redis.start();
    await expectRebuilt();
    await expect.poll(() => members.map(({ fleet }) => fleet.warnings())).toEqual([[], []]);
    await expect.poll(() => director.progress().progress.warnings).toBeNull();
  });

  it('delivers commands after a restart', async () => {
    await redis.stop();
    await expect(director.command('pause', {})).rejects.toMatchObject({
      error: 'redisUnavailable',
      errorDescription: expect.stringContaining('so pause was not sent: the connection was refused') as string,
    });
    await redis.start();
    await until(anyMember, 'a new lease', () => members.some(({ fleet }) => fleet.isLeader()));
    await expectCommandsWork();
  });

  /** Sends a commit to one instance. Redis takes no writes once it has answered for the time, until they are let in. */
  function sendThroughStall(limit_ms: number, log: EventLog): { replies: Promise<unknown>; close: () => void } {
    const connections = new RedisConnections(redis.settings, silent, callLimit_ms);
    const connection = connections.patient();
    const answered = connection.eval.bind(connection) as (...given: unknown[]) => Promise<unknown>;
    connection.eval = async (...given: unknown[]) => {
      // Scripts that add commands may use it too.
      connection.eval = answered;
      const time = await answered(...given);
      await redis.client.call('CLIENT', 'PAUSE', '600000', 'WRITE');
      return time;
    };
    const { keyPrefix } = redis.settings;
    const keys = fleetKeys(fleet, keyPrefix);
    const signature = new FleetSignature(undefined, keys.root, systemTime, silent);
    const sender = new CommandSender({ connection, keys, signature, limit_ms: callLimit_ms }, log.logger);
    const command = { commandId: 'first', name: 'commit', body: {} } as const;
    return { replies: sender.send(command, ['shard0'], limit_ms), close: () => connections.close() };
  }

  const letIn = (): Promise<unknown> => redis.client.call('CLIENT', 'UNPAUSE');

  it('for a while has the answer of a command that it took late', async () => {
    const log = new EventLog();
    members[0]?.fleet.serve(() => Promise.resolve({ success: true }));
    const { replies, close } = sendThroughStall(60_000, log);
    await Promise.race([log.until('commandUnconfirmed'), replies]);
    await letIn();
    expect(await replies).toEqual(new Map([['shard0', { success: true }]]));
    close();
  });

  it('for too long leaves the outcome of a command open', async () => {
    const { replies, close } = sendThroughStall(2 * callLimit_ms, new EventLog());
    expect(await replies).toMatchObject(new Map([['shard0', { success: false, error: 'commandTimedOut' }]]));
    await letIn();
    close();
  });

  it('does not keep instances from leaving', async () => {
    members[0]?.fleet.serve(() => Promise.resolve({ success: true }));
    await redis.stop();
    // Without a limit the leave would wait for Redis for ever, and the test would time out.
    await Promise.all([group.end(), director.fleet.close()]);
    expect(members.some(({ fleet }) => fleet.isLeader())).toBe(false);
  });
});
