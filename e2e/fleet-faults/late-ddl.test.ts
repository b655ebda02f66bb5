import { expect, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { needs } from '../requirements.js';
import { FaultyFleet } from './faulty-fleet.js';
import { strikeLeaderIn, type LeaderFault } from './leader-faults.js';
import { leaderSteps } from './leader-steps.js';
import { StalledLeaders } from './stalled-leader.js';
import { within_ms } from './step-hold.js';

const { skip } = needs({ version: [5, 0], inFull: true });

test(
  "a frozen leader's drop that arrives when the name bears a new collection: nothing of that is missing in the end " +
    '(servers from 5.0)',
  { skip, timeout: 400_000 },
  async () => {
    await using fleet = await FaultyFleet.start();
    const { source, destination } = fleet.clusters.clients;
    const stalled = new StalledLeaders();
    const freezeAndReuse: LeaderFault = {
      strike: stalled.fault.strike,
      bringBack: async (each, inStep) => {
        await each.succeed(inStep.leader);
        // The first spare collection is the one whose drop is on its way.
        await source
          .db('shapes')
          .collection<{ _id: number }>('spare0')
          .insertMany([{ _id: 100 }, { _id: 101 }]);
        await expect
          .poll(() => destination.db('shapes').collection('spare0').countDocuments(), { timeout: within_ms })
          .toBe(2);
        inStep.hold.release();
        inStep.leader.process.thaw();
      },
    };

    await fleet.start();
    await fleet.untilReady();
    const drops = leaderSteps.ddlChanges.filter(({ name }) => name === 'drops');
    await strikeLeaderIn(fleet, freezeAndReuse, drops, new Random(0));
    await fleet.untilReady();
    await fleet.requestCommit();
    await fleet.expectEnd();
  },
);
