import type { Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { loadEverything } from '../data.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { isFullRun, needs } from '../requirements.js';
import { eachShard } from '../shards.js';
import { Workload } from '../workload.js';
import { Filling } from './filling.js';

const megabyte = 2 ** 20;
/**
 * With CONVOY_TEST_FULL=1 the copy takes minutes, and the oplog holds half a minute of writes. Otherwise the copy takes
 * about one, and the oplog holds at least seven seconds, for which an instance may be kept from reading on a busy
 * machine.
 */
const size = isFullRun
  ? { orders: 36_000, oplogBytes: 20 * megabyte, loadRateBytesPerSecond: 100_000 }
  : { orders: 3_000, oplogBytes: 5 * megabyte, loadRateBytesPerSecond: 75_000 };
/** The copy must take at least this many times the oplog window to prove anything. */
const oplogsPerCopy = isFullRun ? 5 : 2;
const copyWithin_ms = 400_000;
const testWithin_ms = 560_000;
const accesses = isFullRun ? ['direct', 'router'] : ['direct'];

test(
  'a copy takes many times longer than the oplog holds writes (servers from 5.0)',
  { ...needs({ version: [5, 0] }), timeout: testWithin_ms },
  async () => {
    await using clusters = await Clusters.start({
      source: { shards: 2 },
      destination: { shards: 2 },
      sourceOplogBytes: size.oplogBytes,
    });
    const { source } = clusters.clients;
    await loadEverything(source, clusters.source, size.orders);
    await using fleet = await clusters.startFleetHere({
      partition_seconds: 2,
      loadRateBytesPerSecond: size.loadRateBytesPerSecond,
    });
    await using workload = Workload.start(source, size.orders);
    const { client } = fleet.coordinator;
    await client.start(defaultStart);
    await untilProgress(
      client,
      'the copy has begun',
      ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0,
    );
    // From here on all changes are read: until then a busy machine may take longer than the oplog holds.
    await using filling = new Filling(source);
    const begun = await oplogEdges(clusters.source);
    await untilCanCommit(client, copyWithin_ms);

    for (const [shard, { oldest, latest }] of (await oplogEdges(clusters.source)).entries()) {
      const copy_seconds = latest.t - (begun[shard]?.latest.t ?? latest.t);
      console.log(`shard ${shard}: the copy took ${copy_seconds} s, the oplog holds ${latest.t - oldest.t} s`);
      expect((latest.t - oldest.t) * oplogsPerCopy).toBeLessThan(copy_seconds);
    }
    await filling.stop();
    await clusters.cutOver(client, workload);
  },
);

test.each(accesses)(
  'a pause outlasts the oplog: every instance says so by name, with the times: access %s (servers from 5.0)',
  needs({ version: [5, 0] }),
  async (sourceAccess) => {
    await using clusters = await Clusters.start({
      source: { shards: 2 },
      destination: { shards: 2 },
      sourceOplogBytes: megabyte,
    });
    const { source } = clusters.clients;
    await loadEverything(source, clusters.source, 500);
    await using fleet = await clusters.startFleetHere({ sourceAccess });
    const { client } = fleet.coordinator;
    await client.start(defaultStart);
    await untilCanCommit(client);
    await client.pause();
    await untilProgress(client, 'PAUSED', ({ state }) => state === 'PAUSED');

    const { $clusterTime } = await source.db('admin').command({ ping: 1 });
    const { clusterTime } = $clusterTime as { clusterTime: Timestamp };
    await using filling = new Filling(source);
    const isForgotten = async (): Promise<boolean> =>
      (await oplogEdges(clusters.source)).every(({ oldest }) => oldest.greaterThan(clusterTime));
    await expect.poll(isForgotten).toBe(true);
    await filling.stop();

    await resume(client);
    const reported = sourceAccess === 'direct' ? 'The oplog reaches back to 20' : 'does not reach back that far';
    for (const service of [...fleet.instances, fleet.coordinator]) {
      const failure = untilProgress(service.client, 'the failure', () => false);
      await expect(failure).rejects.toMatchObject({
        error: 'oplogHistoryLost',
        message: expect.stringContaining(reported) as unknown,
      });
    }
  },
);

/** An instance may have failed before another receives the command: that one refuses it. */
async function resume(client: ContractClient): Promise<void> {
  const refusals = await client.resume().then(
    () => [],
    (error: unknown) =>
      (error instanceof ConvoyError ? error.instances : undefined)?.flatMap((result) =>
        result.success ? [] : [result.error],
      ) ?? [String(error)],
  );
  expect(refusals.filter((refusal) => refusal !== 'migrationFailed')).toEqual([]);
}

/** The times of the oldest and the latest entry of an oplog. */
interface OplogEdges {
  oldest: Timestamp;
  latest: Timestamp;
}

/** What the oplog of each shard holds at the moment. */
async function oplogEdges(cluster: TestCluster): Promise<OplogEdges[]> {
  const edges: OplogEdges[] = [];
  await eachShard(cluster, async (shard) => {
    const oplog = shard.db('local').collection<{ ts: Timestamp }>('oplog.rs');
    const edge = async (direction: 1 | -1): Promise<Timestamp> => {
      const [entry] = await oplog.find({}, { promoteValues: false }).sort({ $natural: direction }).limit(1).toArray();
      if (entry === undefined) throw new Error('The oplog is empty.');
      return entry.ts;
    };
    edges.push({ oldest: await edge(1), latest: await edge(-1) });
  });
  return edges;
}
