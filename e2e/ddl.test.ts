import { expect, test } from 'vitest';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { Fleet, FleetInstance } from '@convoy/cli/environment/fleet/start-fleet';
import { patience_ms } from '../test/patience.js';
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
/** A full run has more changes, in quick succession, and kills every instance in turn, the leader first. */
const size = isFullRun
  ? { orders: 4_000, changesMin: 30, pause_ms: 10, loadRateBytesPerSecond: 1_000_000 }
  : { orders: 1_000, changesMin: 12, pause_ms: 25, loadRateBytesPerSecond: 250_000 };

/** A usual run kills nobody: `ddl/leader-dies` of the instance has a leader that dies at every step. */
async function startFleet(
  clusters: Clusters,
  settings: Readonly<Record<string, unknown>>,
): Promise<{ fleet: Fleet<FleetInstance>; processes: readonly InstanceProcess[] }> {
  if (!isFullRun) return { fleet: await clusters.startFleetHere(settings), processes: [] };
  const fleet = await clusters.startFleet(settings);
  return { fleet, processes: fleet.instances };
}

async function untilChanged(workload: DdlWorkload, changes: number): Promise<void> {
  await expect.poll(() => workload.changes, { timeout: patience_ms() }).toBeGreaterThan(changes);
}

test.each(accesses)(
  'a fleet follows DDL changes of all kinds, during the copy and after it, also under other names and, in full runs, ' +
    'when its instances are killed: %s (servers from 5.0)',
  { timeout: 560_000, ...needs({ version: [5, 0] }) },
  async (sourceAccess) => {
    await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
    const { source } = clusters.clients;
    await loadEverything(source, clusters.source, size.orders);
    await source.db('admin').command({ enableSharding: 'moving' });
    await using workload = DdlWorkload.start(source, testSeed, size.pause_ms);
    const started = await startFleet(clusters, {
      sourceAccess,
      partition_seconds: 1,
      loadRateBytesPerSecond: size.loadRateBytesPerSecond,
      catalogInterval_seconds: 1,
    });
    await using fleet = started.fleet;

    const { client } = fleet.coordinator;
    await client.start({ ...defaultStart, namespaceRemap });
    await untilChanged(workload, size.changesMin);
    if (!isFullRun) await untilCanCommit(client);
    await untilChanged(workload, workload.changes + size.changesMin);
    const { coordinatorID } = await untilProgress(client, 'one leads', (progress) => progress.coordinatorID !== null);
    for (const instance of started.processes.toSorted((a) => (a.name === coordinatorID ? -1 : 1))) {
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
