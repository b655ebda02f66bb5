import { expect, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { FleetUnderLoad } from '../fleet-under-load.js';
import { testSeed } from '../../test/seed.js';
import { defaultStart, untilCanCommit, untilProgress, untilTaken } from '../fleet.js';
import { needs } from '../requirements.js';
import { SlowProcesses } from './slow-processes.js';

const orders = 3_000;
/** A tenth of the time; a stop is longer than the lease of a leader that is not slow. */
const tenth = { runs_ms: 700, stands_ms: 6_300 };
const slowPhaseLimit_ms = 420_000;

test(
  `with a tenth of its processor the leader keeps leading, and a commit ends: seed ${testSeed} (servers from 5.0)`,
  { ...needs({ version: [5, 0], inFull: true }), timeout: 900_000 },
  async () => {
    await using underLoad = await FleetUnderLoad.start({ orders });
    const { clusters, fleet, workload, client } = underLoad;
    const { destination } = clusters.clients;
    const leaderEpoch = async (): Promise<unknown> =>
      (await destination.db('convoy_metadata').collection('migration').findOne())?.['leaderEpoch'];
    await client.start(defaultStart);
    await untilCanCommit(client);
    await workload.stop();
    const before = await leaderEpoch();
    await using slow = SlowProcesses.start(fleet.instances, tenth, new Random(testSeed));
    await untilTaken(() => client.commit());
    await untilProgress(
      client,
      'COMMITTED',
      ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true,
      slowPhaseLimit_ms,
    );
    await slow[Symbol.asyncDispose]();
    expect(await leaderEpoch()).toBe(before);
    await clusters.expectEqual();
  },
);
