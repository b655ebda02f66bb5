import { test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { testSeed } from '../../test/seed.js';
import { needs } from '../requirements.js';
import { FaultyFleet } from './faulty-fleet.js';
import { type LeaderFault, strikeLeaderIn } from './leader-faults.js';
import { type FaultPhase, releasesOf, stepsOf } from './leader-steps.js';
import { reachPhase } from './reach-phase.js';

const testWithin_ms = 560_000;

/** The fate of the last command that a killed leader has sent. */
const fates = ['arrives', 'arrives after the take-over', 'is lost'] as const;

/** Kills the leader (kill -9); it is started again at once. */
export const kill: LeaderFault = {
  strike: async (_fleet, { leader, hold }, step, random) => {
    const fate = random.pick(fates);
    console.log(`what was sent ${fate}`);
    await leader.process.kill();
    if (fate === 'arrives') hold.release();
    if (fate === 'is lost' && step.sender !== 'others') hold.lose();
  },
  bringBack: async (_fleet, { leader, hold }) => {
    hold.release();
    await leader.process.restart();
  },
};

/** A migration whose leader is killed in each step of one phase. */
export function testKilledLeader(phase: FaultPhase): void {
  const { skip } = needs({ version: [5, 0], inFull: true });
  test.each(releasesOf(phase))(
    `the leader is killed in each step of the phase "${phase}": seed ${testSeed}, %s (servers from 5.0)`,
    { skip, timeout: testWithin_ms },
    async (release) => {
      await using fleet = await FaultyFleet.start({}, release);
      const random = new Random(testSeed);
      const steps = stepsOf(phase, fleet.clusters.destination.version[0]);
      await reachPhase(fleet, phase, (begin) => strikeLeaderIn(fleet, kill, steps, random, begin));
      await fleet.expectEnd();
    },
  );
}
