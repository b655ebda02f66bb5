import { test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { RedisServer } from '@convoy/testbed/redis/redis-server';
import { testSeed } from '../../test/seed.js';
import { needs } from '../requirements.js';
import { FaultyFleet } from './faulty-fleet.js';
import { kill } from './killed-leader.js';
import { strikeLeaderIn } from './leader-faults.js';
import { type LeaderStep, stepsOf } from './leader-steps.js';
import { loseRedis } from './lost-redis.js';
import { redisFaultNames } from './redis-faults.js';
import { StalledLeaders } from './stalled-leader.js';

const testWithin_ms = 560_000;
/** Longer than every lease. */
const absence_ms = 7_000;

test(
  `a fleet, started by hand, loses its leader in three steps and Redis once: seed ${testSeed} (servers from 5.0)`,
  { timeout: testWithin_ms, ...needs({ version: [5, 0] }) },
  async () => {
    const random = new Random(testSeed);
    await using fleet = await FaultyFleet.start();
    const one = (steps: readonly LeaderStep[]): LeaderStep[] => [random.pick(steps as [LeaderStep, ...LeaderStep[]])];
    const release = fleet.clusters.destination.version[0];
    const stalled = new StalledLeaders();

    await strikeLeaderIn(fleet, kill, one(stepsOf('initialisation', release)), random, () => fleet.startByHand());
    await fleet.untilReady();
    await strikeLeaderIn(fleet, stalled.fault, one(stepsOf('ddlChanges', release)), random);
    await fleet.untilReady();
    if (fleet.fleet.redis instanceof RedisServer) {
      await loseRedis(fleet, 'apply', () => undefined, { name: random.pick(redisFaultNames), absence_ms });
    }
    await strikeLeaderIn(fleet, kill, one(stepsOf('commit', release)), random, () => fleet.requestCommit());
    await fleet.expectEnd();
    stalled.expectSilence();
  },
);
