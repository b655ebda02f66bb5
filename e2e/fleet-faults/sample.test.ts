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
/** Faults beside a leader that is frozen in a DDL change, which belongs to every run. */
const faults = sampled(['a leader killed in initialisation', 'a leader killed in commit', 'a lost Redis']);

test.each(sampled(['8.0', '5.0'] as const))(
  `a fleet, started by hand, has a leader frozen in a DDL change, and ${faults.join(', ')}: seed ${testSeed}, %s ` +
    '(servers from 5.0)',
  { timeout: testWithin_ms, ...needs({ version: [5, 0] }) },
  async (series) => {
    const random = new Random(testSeed);
    await using fleet = await FaultyFleet.start({}, series);
    const release = fleet.clusters.destination.version[0];
    const strikeIn = (phase: FaultPhase, fault: LeaderFault, begin?: () => Promise<void>): Promise<void> => {
      const step = random.pick(stepsOf(phase, release) as [LeaderStep, ...LeaderStep[]]);
      return strikeLeaderIn(fleet, fault, [step], random, begin);
    };
    const killIn = (phase: 'initialisation' | 'commit', begin: () => Promise<void>): Promise<void> =>
      faults.includes(`a leader killed in ${phase}`) ? strikeIn(phase, kill, begin) : begin();
    const stalled = new StalledLeaders();

    await killIn('initialisation', () => fleet.startByHand());
    await fleet.untilReady();
    await strikeIn('ddlChanges', stalled.fault);
    await fleet.untilReady();
    if (faults.includes('a lost Redis') && fleet.fleet.redis instanceof RedisServer) {
      await loseRedis(fleet, 'apply', () => undefined, { name: random.pick(redisFaultNames), absence_ms });
    }
    await killIn('commit', () => fleet.requestCommit());
    await fleet.expectEnd();
    stalled.expectSilence();
  },
);
