import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { type LocalCluster, startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { createRuntime } from '../../../src/lifecycle/migration/runtime.js';
import { SyncInstance } from '../../../src/lifecycle/instance/sync-instance.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { instanceLogger } from '../instance-log.js';

let clusters: LocalCluster[] = [];
let destination: MongoClient;

beforeAll(async () => {
  clusters = await Promise.all(
    (['source', 'destination'] as const).map((side) => startLocalCluster({ side, topology: 'replicaSet' })),
  );
  destination = new MongoClient(clusters[1]?.connectionString ?? '');
});

afterAll(async () => {
  await destination.close();
  for (const cluster of clusters) await cluster.close();
});

/**
 * Lets a command of the tasks' records fail for as long as it is on, with the answer of a router whose shard is away
 * (FailedToSatisfyReadPreference). With a code of a server that shuts down (91), drivers give up the connections of all
 * other commands too: 8.0.10 sends no `topologyVersion` beside it, by which they see that nothing has changed.
 */
async function withhold(command: 'find' | 'update', mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = { failCommands: [command], namespace: 'convoy_metadata.tasks', errorCode: 133 };
  await destination
    .db('admin')
    .command({ configureFailPoint: 'failCommand', mode, ...(mode === 'off' ? {} : { data }) });
}

/** A lone instance whose migration offers a commit. */
async function offering(): Promise<SyncInstance> {
  const [cluster0, cluster1] = clusters.map(({ connectionString }) => connectionString);
  const config = parseInstanceConfig({ flags: { cluster0, cluster1 } });
  const metrics = new Metrics({ processMetrics: false });
  const runtime = createRuntime(config, systemClock, instanceLogger('instance single'), metrics);
  const identity = { id: 'single', syncID: 'single', incarnation: 'a', release: '2.0.0' };
  const fleet = new LoneFleet();
  await fleet.join(identity);
  const instance = new SyncInstance(runtime, fleet, identity);
  await instance.open();
  await instance.start(parseStartRequest({ source: 'cluster0', destination: 'cluster1' }));
  await expect.poll(async () => (await instance.progress()).canCommit).toBe(true);
  return instance;
}

it('a commit that the destination could not record in time is not taken once it is back', async () => {
  const instance = await offering();
  try {
    for (const [command, answer] of [
      ['find', /so it does not, and will not later/],
      ['update', /may still begin. Keep the writers of the source stopped/],
    ] as const) {
      await withhold(command, 'alwaysOn');
      await expect(instance.commit(undefined, 5_000)).rejects.toMatchObject({
        error: 'commandTimedOut',
        errorDescription: expect.stringMatching(answer) as string,
      });
      await withhold(command, 'off');
      await expect
        .poll(async () => (await instance.progress()).warnings ?? [])
        .not.toContainEqual(expect.objectContaining({ name: 'retrying' }));
      expect(await destination.db('convoy_metadata').collection('tasks').findOne()).toMatchObject({
        commitRequested: false,
      });
      expect(instance.state).toBe('RUNNING');
      await expect.poll(async () => (await instance.progress()).canCommit).toBe(true);
    }
    await instance.commit();
    await expect.poll(() => instance.state).toBe('COMMITTED');
  } finally {
    await instance.close();
  }
});
