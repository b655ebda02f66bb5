import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { testSeeds } from '../../test/seed.js';
import { Clusters, defaultStart, untilProgress } from '../fleet.js';
import { isFullRun, needs } from '../requirements.js';
import { besideSeries, loadSeries } from '../series-workload.js';
import { MovingWorkload, movingDatabase } from './moving-workload.js';

/** Over all files there are 52 of them. */
const seedsOfFull = 13;
const documents = 4_000;
/** About what the copy takes at the rate below: instants before, during and after every partition's end come up. */
const copyTime_ms = 5_000;
const rateBytesPerSecond = 250_000;

export interface KilledCopies {
  sourceAccess: 'direct' | 'router';
  /** How many of the two instances are killed at the same instant. */
  victims: 1 | 2;
}

/**
 * One migration for every seed, killed at an instant that the seed decides. CONVOY_TEST_SEED repeats one.
 * @param inFull whether they run with CONVOY_TEST_FULL=1 alone, or one without it alone
 */
export function testKilledCopies({ sourceAccess, victims }: KilledCopies, inFull: boolean): void {
  const skip = needs({ version: [5, 0] }).skip || inFull !== isFullRun;
  test.each(testSeeds(inFull ? seedsOfFull : 1))(
    'a copy under deletes, inserts of the same _ids and moves between shards is killed: ' +
      `access ${sourceAccess}, ${victims} instance(s), seed %i (servers from 5.0)`,
    { skip },
    async (seed) => {
      const random = new Random(seed);
      await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
      const { source } = clusters.clients;
      await MovingWorkload.load(source, clusters.source, documents);
      await loadSeries(source, movingDatabase);
      const settings = {
        sourceAccess,
        partition_seconds: 1,
        checkpoint_ms: random.pick([100, 1_000]),
        loadRateBytesPerSecond: rateBytesPerSecond,
      };
      await using fleet = await clusters.startFleet(settings);
      const moving = MovingWorkload.start(source, documents, random);
      await using workload = besideSeries(moving, { client: source, database: movingDatabase, random });
      const { client } = fleet.coordinator;
      const killed =
        victims === 2
          ? fleet.instances
          : [random.pick(fleet.instances as [(typeof fleet.instances)[0], ...typeof fleet.instances])];

      await client.start(defaultStart);
      await untilProgress(
        client,
        'the copy has begun',
        ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0,
      );
      await delay(random.below(copyTime_ms));
      await Promise.all(killed.map((instance) => instance.kill()));
      const before = workload.operations;
      await expect.poll(() => workload.operations).toBeGreaterThan(before + 100);
      await Promise.all(killed.map((instance) => instance.restart()));
      await clusters.cutOver(client, workload);
    },
  );
}
