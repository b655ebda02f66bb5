import { beforeEach, describe, expect, it } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Timestamp } from 'mongodb';
import { timeOf } from '../../../src/cluster/cluster-time.js';
import { firstEpochAt, hasPredecessor } from '../../../src/store/fence.js';
import { MigrationRecords } from '../../../src/store/migration-record.js';
import { TaskRecords } from '../../../src/store/task-record.js';
import { metadataIn, MetadataModel } from '../model/metadata-model.js';
import { never } from '../model/parts.js';
import { unrecorded } from '../model/unrecorded-migration.js';

const migration = { ...unrecorded, warnings: [{ name: 'indexVersionRaised', description: 'Raised.' }] };

let records: MigrationRecords;
beforeEach(() => {
  records = new MigrationRecords(metadataIn(new MetadataModel()));
});

describe('a recorded migration', () => {
  it('is joined as it was recorded', async () => {
    const recorded = await records.begin(migration, never);
    expect(await records.join({ ...migration, warnings: [] }, never)).toEqual(recorded);
    expect(recorded.warnings).toEqual(migration.warnings);
  });

  it('is not joined with other options, from other clusters or in another way', async () => {
    await records.begin(migration, never);
    const options = parseStartRequest({
      source: 'cluster0',
      destination: 'cluster1',
      includeNamespaces: [{ database: 'shop' }],
    });
    await expect(records.join({ ...migration, options }, never)).rejects.toMatchObject({ error: 'optionsDiffer' });
    const source = { name: 'cluster0', clusterId: '2' };
    await expect(records.join({ ...migration, source }, never)).rejects.toMatchObject({ error: 'migrationExists' });
    const other = { ...migration, access: 'router' as const };
    await expect(records.join(other, never)).rejects.toMatchObject({ error: 'optionsDiffer' });
  });

  it('that was removed is not recorded again by an instance that joins: nobody has checked it', async () => {
    await expect(records.join(migration, never)).rejects.toMatchObject({ error: 'destinationChanged' });
    expect(await records.read(never)).toBeNull();
  });
});

it('a write of the leader that breaks a rule of the state is not sent', async () => {
  await records.begin(migration, never);
  const epoch = await records.takeLeaderEpoch(never);
  await expect(records.openAsLeader(epoch, never)).rejects.toMatchObject({
    error: 'internalError',
    errorDescription: expect.stringContaining('phaseFollows: starting, opening') as string,
  });
  await expect(records.updateAsLeader(epoch, { phase: 'committed' }, never)).rejects.toThrow('phaseFollows');
  expect(await records.read(never)).toMatchObject({ phase: 'starting' });
  await expect(records.updateAsLeader(epoch, { phase: 'syncing' }, never)).resolves.toBeUndefined();
});

describe('a process of a migration that was cleaned up', () => {
  it('neither opens the destination of the next one nor writes as its leader', async () => {
    await records.begin({ ...migration, firstEpoch: 100 }, never);
    const frozen = await records.takeLeaderEpoch(never);
    const next = new MigrationRecords(metadataIn(new MetadataModel()));
    await next.begin({ ...migration, firstEpoch: 200 }, never);
    const present = await next.takeLeaderEpoch(never);
    await expect(next.openAsLeader(frozen, never)).rejects.toMatchObject({ error: 'staleEpoch' });
    await expect(next.confirmLeader(frozen, never)).rejects.toMatchObject({ error: 'staleEpoch' });
    await expect(next.confirmLeader(present, never)).resolves.toBeUndefined();
  });

  it('does not confirm that it owns a task of the next one', async () => {
    const owner = { syncID: 'a', incarnation: '1' };
    const take = (tasks: TaskRecords, firstEpoch: number) => tasks.take('shard0', owner, 1, never, { firstEpoch });
    const { epoch } = await take(new TaskRecords(metadataIn(new MetadataModel())), 100);
    const next = new TaskRecords(metadataIn(new MetadataModel()));
    const present = await take(next, 200);
    await expect(next.update('shard0', epoch, { paused: true }, never)).rejects.toMatchObject({ error: 'staleEpoch' });
    await expect(next.update('shard0', present.epoch, { paused: true }, never)).resolves.toBeUndefined();
  });
});

it('only epochs after the first of a migration have a predecessor, also in records of earlier releases', () => {
  expect([201, 202].map((epoch) => hasPredecessor({ firstEpoch: 200 }, epoch))).toEqual([false, true]);
  expect([1, 2].map((epoch) => hasPredecessor({}, epoch))).toEqual([false, true]);
});

it('the epochs of a migration begin at the seconds of the time at which it begins', () => {
  const time = timeOf(new Timestamp({ t: 1_800_000_000, i: 7 }));
  expect(firstEpochAt(time)).toBe(1_800_000_000);
  // The numbers of data writes are signed.
  expect(firstEpochAt(timeOf(new Timestamp({ t: 2 ** 31 + 5, i: 1 })))).toBe(5);
});
