import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { noRemap } from '../../../../src/catalog/namespace-remap.js';
import { systemClock } from '../../../../src/async/clock.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import type { RawBatch } from '../../../../src/cluster/node-client.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import { createRuntime } from '../../../../src/lifecycle/migration/runtime.js';
import { taskCollections } from '../../../../src/lifecycle/task/task-collections.js';
import { SyncPipeline } from '../../../../src/lifecycle/task/sync-pipeline.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { PartitionTable } from '../../../../src/store/partition-table.js';
import { TaskRecords } from '../../../../src/store/task-record.js';
import { TaskStorage } from '../../../../src/store/task-storage.js';
import { fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { metadataIn, MetadataModel } from '../../model/metadata-model.js';
import { never, wholeCollections } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { NamespaceFilter } from '../../../../src/catalog/namespace-filter.js';
import type { Fleet } from '@convoy/api/fleet/fleet';

const entry: CatalogEntry = {
  database: 'shop',
  name: 'log',
  type: 'collection',
  uuid: '0a'.repeat(16),
  options: { capped: true, size: 4096 },
  indexes: [],
  sharding: null,
  primaryShard: 'rs',
  sizeBytes: 0,
  documentCount: 0,
};
const startTime = 5n;
const end = timestampOf(9n);

/** An idle source: its stream is read beyond the start time, and continues without events. */
const idle = clientWith({
  command: () => Promise.resolve({ operationTime: end }),
  openCursor: () => {
    const first: RawBatch = { documents: [], bytes: 0, resumeToken: '820000000000000009', operationTime: end };
    const next = async (): Promise<RawBatch> => {
      await turn();
      return first;
    };
    return Promise.resolve({ first, open: true, next, close: () => Promise.resolve() });
  },
});

it('a capped collection is recreated only while no other process owns the task', async () => {
  const metadata = metadataIn(new MetadataModel());
  const records = new TaskRecords(metadata);
  const owner = { syncID: 'rs', incarnation: '1' };
  const record = await records.take('rs', owner, 4, never);
  const [source, destination] = ['cluster0', 'cluster1'].map((name) =>
    fakeCluster({
      name,
      kind: 'replicaSet',
      shardIds: ['rs'],
      router: idle,
      shards: new Map([['rs', idle]]),
    }),
  );
  if (source === undefined || destination === undefined) throw new Error('two clusters');
  const [task] = taskCollections([{ entry, notBefore: 0n, copy: entry.uuid }], 'rs', source, wholeCollections);
  if (task === undefined) throw new Error('the task has the collection');
  const storage = new TaskStorage(metadata, 'rs', record.epoch, never);
  await storage.claimCopies([task.copy]);
  const brokenOff = PartitionTable.fresh(task.collection, [], storage.saverOf(task.copy));
  for (const partition of brokenOff.partitions) partition.markDirty();
  await brokenOff.persist();

  const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://source', cluster1: 'mongodb://destination' } });
  const runtime = createRuntime(
    config,
    systemClock,
    createLogger({ verbosity: 'FATAL' }),
    new Metrics({ processMetrics: false }),
  );
  const seen: unknown[] = [];
  const sync = new SyncPipeline(
    {
      runtime,
      source,
      destination,
      metadata,
      records,
      record,
      shardId: 'rs',
      collections: [task],
      known: new Set(),
      undone: [],
      startTime,
      beginsCopied: false,
      bytesMax: 2 ** 20,
      filter: only<NamespaceFilter>({ includes: () => true }),
      remap: noRemap,
      taskOf: () => null,
      onFailure: () => undefined,
      fleet: only<Fleet>({ wake: () => undefined }),
      patience: { isAwaited: () => false, isIdle: () => false },
      recreate: async ({ name }, confirm) => {
        seen.push(name);
        await confirm();
        seen.push('confirmed');
        // Frozen here until another process has taken the task.
        await records.take('rs', { ...owner, incarnation: '2' }, 4, never);
        await confirm();
        throw new Error('a replaced process would drop it');
      },
    },
    never,
  );
  await sync.prepare(never);
  sync.setDdlWatermark(2n ** 63n);
  await expect(sync.run(never)).rejects.toMatchObject({ error: 'staleEpoch' });
  expect(seen).toEqual(['log', 'confirmed']);
});
