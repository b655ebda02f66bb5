import { expect, test } from 'vitest';
import { testSeed } from '../test/seed.js';
import { loadEverything } from './data.js';
import { DdlWorkload } from './ddl-workload.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from './fleet.js';
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
/** A full run has more changes, in quick succession, and kills every instance in turn. */
const size = isFullRun
  ? { orders: 4_000, changesMin: 30, pause_ms: 10, loadRateBytesPerSecond: 1_000_000 }
  : { orders: 1_000, changesMin: 12, pause_ms: 25, loadRateBytesPerSecond: 250_000 };

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
    await loadEverything(source, clusters.source, size.orders);
    await source.db('admin').command({ enableSharding: 'moving' });
    await using workload = DdlWorkload.start(source, testSeed, size.pause_ms);
    await using fleet = await clusters.startFleet({
      sourceAccess,
      partition_seconds: 1,
      loadRateBytesPerSecond: size.loadRateBytesPerSecond,
      catalogInterval_seconds: 1,
    });

    const { client } = fleet.coordinator;
    await client.start({ ...defaultStart, namespaceRemap });
    await untilChanged(workload, size.changesMin);
    const { coordinatorID } = await untilProgress(client, 'one leads', (progress) => progress.coordinatorID !== null);
    const leaderFirst = fleet.instances.toSorted((a) => (a.name === coordinatorID ? -1 : 1));
    for (const instance of isFullRun ? leaderFirst : leaderFirst.slice(0, 1)) {
      await instance.kill();
      await instance.restart();
      await untilChanged(workload, workload.changes + size.changesMin);
    }
    await workload.stop();
    await untilCanCommit(client);
    // A collection that is new to the fleet is copied first; meanwhile the fleet reports that it cannot be committed
    // yet.
    await untilTaken(() => client.commit());
    await untilCommitted(client);
    await clusters.expectEqual(nameThere);
  },
);
