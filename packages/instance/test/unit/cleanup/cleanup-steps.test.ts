import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { cleanupSteps } from '../../../src/cleanup/cleanup-steps.js';
import type { Metadata } from '../../../src/store/metadata.js';
import { type MigrationPhase, MigrationRecords } from '../../../src/store/migration-record.js';
import { TaskRecords } from '../../../src/store/task-record.js';
import { FakeNodeClient, fakeCluster } from '../fake-node-client.js';
import { metadataIn, MetadataModel } from '../model/metadata-model.js';
import { never, once } from '../model/parts.js';

let model: MetadataModel;
let records: MigrationRecords;
let metadata: Metadata;
/** What was done to the clusters. */
let done: string[];

beforeEach(() => {
  model = new MetadataModel();
  metadata = metadataIn(model);
  records = new MigrationRecords(metadata);
  done = [];
});

function cluster(name: string) {
  const note =
    (what: string) =>
    (_database: string, command: Document): Document => {
      done.push(`${name} ${what} ${String(command.global ?? command.drop ?? '')}`.trim());
      return { ok: 1, n: 0 };
    };
  const router = new FakeNodeClient(name, {
    balancerStart: note('balance'),
    drop: note('drop'),
    count: () => ({ n: 0 }),
  });
  return { ...fakeCluster({ router, shardIds: ['a'] }), name };
}

function allowWrites({ name }: { name: string }): Promise<void> {
  done.push(`${name} block false`);
  return Promise.resolve();
}

async function begin(): Promise<void> {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const [source, destination] = ['cluster0', 'cluster1'].map((name) => ({ name, clusterId: name }));
  if (source === undefined || destination === undefined) throw new Error('two clusters');
  await records.begin(
    { release: '1', options, source, destination, access: 'direct', taskIds: ['a'], warnings: [] },
    never,
  );
  await records.updateAsLeader(0, { balancers: { source: true, destination: true } }, never);
}

async function reach(phase: MigrationPhase): Promise<void> {
  await records.updateAsLeader(0, { phase }, never);
}

/** Plans a cleanup, changes the clusters, then executes the plan. */
async function clean(meanwhile: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
  const [source, destination] = [cluster('cluster0'), cluster('cluster1')];
  const remains = {
    source,
    destination,
    home: destination,
    other: source,
    records,
    tasks: new TaskRecords(metadata),
    zones: { ranges: [], shards: [] },
    metadata: { home: ['migration'], other: [] },
    allowWrites,
  };
  const steps = cleanupSteps({ ...remains, record: await records.read(never), retrying: once });
  await meanwhile();
  for (const step of steps) await step.run(never);
}

describe('a cleanup that was approved late', () => {
  it('ends a migration for good: no process can open the destination any more', async () => {
    await begin();
    await reach('committing');
    await clean();
    expect(done).toEqual([
      'cluster0 balance',
      'cluster0 block false',
      'cluster1 balance',
      'cluster1 block false',
      'cluster1 drop migration',
    ]);
    const epoch = await records.takeLeaderEpoch(never);
    expect(await records.openAsLeader(epoch, never)).toBe(false);
  });

  it.each(['opening', 'committed'] as const)(
    'touches nothing of a migration that was not when it was planned, and is %s by now',
    async (phase) => {
      await begin();
      await reach('committing');
      await expect(clean(() => reach(phase))).rejects.toMatchObject({ error: 'migrationLives' });
      expect(done).toEqual([]);
    },
  );

  it('does not open the source halfway: one that was closed in the meantime needs another plan', async () => {
    await begin();
    await reach('syncing');
    await expect(clean(() => reach('committing'))).rejects.toMatchObject({
      error: 'migrationLives',
      errorDescription: expect.stringMatching(/again/) as unknown,
    });
    expect(done).toEqual([]);
    await clean();
    expect(done).toContain('cluster0 block false');
  });

  it('drops no metadata of a migration that was started in the meantime', async () => {
    await expect(clean(begin)).rejects.toMatchObject({ error: 'migrationLives' });
    expect(done).toEqual([]);
  });

  it('removes what a committed migration has left', async () => {
    await begin();
    await reach('committed');
    await clean();
    expect(done).toEqual(['cluster1 drop migration']);
  });
});
