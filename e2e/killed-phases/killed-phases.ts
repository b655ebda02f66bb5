import { expect, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { testSeeds } from '../../test/seed.js';
import { carryBesidesData, expectBesidesData, makeBesidesData } from '../besides-data.js';
import { Clusters, defaultStart } from '../fleet.js';
import { isFullRun, needs } from '../requirements.js';
import { type Phase, phases } from './phases.js';

/** Migrations and kills of each: 25 instants for each phase and access. */
const size = isFullRun ? { migrations: 5, kills: 5 } : { migrations: 1, kills: 1 };
/** Writes while the killed instances are down. */
const writesBetween = 50;
/** Restarts are slow on a machine under load. */
const testWithin_ms = 540_000;

/** In what instances are killed, and how the source is read. */
export interface KilledPhase {
  phase: keyof typeof phases;
  sourceAccess: 'direct' | 'router';
}

/**
 * Migrations under writes, each killed several times in one phase, at instants and with victims that the seed decides;
 * they end with equal clusters, also besides data. CONVOY_TEST_SEED repeats one.
 * @param inFull whether they run with CONVOY_TEST_FULL=1 alone, or without it alone
 */
export function testKilledPhase({ phase, sourceAccess }: KilledPhase, inFull: boolean): void {
  const skip = needs({ version: [5, 0] }).skip || inFull !== isFullRun;
  const { settings, load, work, reach, untilInstant, finish } = phases[phase] as Phase;
  test.each(testSeeds(size.migrations))(
    `instances are killed in the phase "${phase}": access ${sourceAccess}, seed %i (servers from 5.0)`,
    { skip, timeout: testWithin_ms },
    async (seed) => {
      const random = new Random(seed);
      await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
      await load(clusters);
      await makeBesidesData(clusters.clients.source, clusters.source);
      await using fleet = await clusters.startFleet({
        sourceAccess,
        checkpoint_ms: random.pick([100, 1_000]),
        ...settings,
      });
      await using workload = work(clusters, random);
      await fleet.coordinator.client.start({ ...defaultStart, carry: carryBesidesData(clusters) });
      await reach(clusters, fleet);
      for (let kill = 0; kill < size.kills; kill += 1) {
        const victims = await untilInstant(clusters, fleet, random);
        await Promise.all(victims.map((victim) => victim.kill()));
        const before = workload.operations;
        await expect.poll(() => workload.operations).toBeGreaterThan(before + writesBetween);
        await Promise.all(victims.map((victim) => victim.restart()));
      }
      await finish(clusters, fleet, workload);
      await expectBesidesData(clusters.clients.destination, clusters.destination.shardIds.at(-1));
    },
  );
}
