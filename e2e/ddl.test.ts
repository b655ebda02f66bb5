import { expect, test } from 'vitest';
import { testSeed } from '../test/seed.js';
import { loadEverything } from './data.js';
import { DdlWorkload } from './ddl-workload.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from './fleet.js';
import { isFullRun, needs } from './requirements.js';

/** Renames between `a` or `b` and the others lead into another database of the destination. */
const namespaceRemap = [
  { from: { database: 'moving', collection: 'a' }, to: { database: 'moved', collection: 'first' } },
  { from: { database: 'moving', collection: 'b' }, to: { database: 'moved', collection: 'b' } },
];
const nameThere = (namespace: string): string =>
  ({ 'moving.a': 'moved.first', 'moving.b': 'moved.b' })[namespace] ?? namespace;

/** With direct access, the fleet's samples have DDL changes too. */
const accesses = isFullRun ? ['direct', 'router'] : ['router'];
const orders = 4_000;
const changesMin = 30;

async function untilChanged(workload: DdlWorkload, changes: number): Promise<void> {
  await expect.poll(() => workload.changes, { timeout: 120_000 }).toBeGreaterThan(changes);
}

test.each(accesses)(
  'a fleet follows DDL changes of all kinds, during the copy and after it, and when its leader is killed, also under ' +
    'other names: %s (servers from 5.0)',
  { timeout: 560_000, ...needs({ version: [5, 0] }) },
  async (sourceAccess) => {
    await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
    const { source } = clusters.clients;
    await loadEverything(source, clusters.source, orders);
    await source.db('admin').command({ enableSharding: 'moving' });
    await using workload = DdlWorkload.start(source, testSeed);
    await using fleet = await clusters.startFleet({
      sourceAccess,
      partition_seconds: 1,
      loadRateBytesPerSecond: 1_000_000,
      catalogInterval_seconds: 1,
    });

    await fleet.coordinator.client.start({ ...defaultStart, namespaceRemap });
    await untilChanged(workload, changesMin);
    for (const instance of fleet.instances) {
      await instance.kill();
      await instance.restart();
      await untilChanged(workload, workload.changes + changesMin);
    }
    await workload.stop();
    const { client } = fleet.coordinator;
    await untilCanCommit(client);
    // A collection that is new to the fleet is copied first; meanwhile the fleet reports that it cannot be committed
    // yet.
    await untilTaken(() => client.commit());
    await untilCommitted(client);
    await clusters.expectEqual(nameThere);
  },
);
