import { test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { RedisServer } from '@convoy/testbed/redis/redis-server';
import { sampled, testSeed } from '../../test/seed.js';
import { needs } from '../requirements.js';
import { FaultyFleet } from './faulty-fleet.js';
import { kill } from './killed-leader.js';
import { type LeaderFault, strikeLeaderIn } from './leader-faults.js';
import { type FaultPhase, type LeaderStep, stepsOf } from './leader-steps.js';
import { loseRedis } from './lost-redis.js';
import { redisFaultNames } from './redis-faults.js';
import { StalledLeaders } from './stalled-leader.js';

const testWithin_ms = 560_000;
/** Longer than every lease. */
const absence_ms = 7_000;
/** Phases in which the leader is killed; the one in between, in which it is frozen, belongs to every run. */
const killedIn = sampled<FaultPhase>(['initialisation', 'commit']);

test(
  `a fleet, started by hand, loses its leader in ${killedIn.join(' and ')} and in a DDL change, and Redis once: ` +
    `seed ${testSeed} (servers from 5.0)`,
  { timeout: testWithin_ms, ...needs({ version: [5, 0] }) },
  async () => {
    const random = new Random(testSeed);
    await using fleet = await FaultyFleet.start();
    const release = fleet.clusters.destination.version[0];
    const strikeIn = (phase: FaultPhase, fault: LeaderFault, begin?: () => Promise<void>): Promise<void> => {
      const step = random.pick(stepsOf(phase, release) as [LeaderStep, ...LeaderStep[]]);
      return strikeLeaderIn(fleet, fault, [step], random, begin);
    };
    const killIn = (phase: FaultPhase, begin: () => Promise<void>): Promise<void> =>
      killedIn.includes(phase) ? strikeIn(phase, kill, begin) : begin();
    const stalled = new StalledLeaders();

    await killIn('initialisation', () => fleet.startByHand());
    await fleet.untilReady();
    await strikeIn('ddlChanges', stalled.fault);
    await fleet.untilReady();
    if (fleet.fleet.redis instanceof RedisServer) {
      await loseRedis(fleet, 'apply', () => undefined, { name: random.pick(redisFaultNames), absence_ms });
    }
    await killIn('commit', () => fleet.requestCommit());
    await fleet.expectEnd();
    stalled.expectSilence();
  },
);
