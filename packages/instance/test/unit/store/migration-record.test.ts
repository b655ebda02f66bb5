import { beforeEach, describe, expect, it } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { MigrationRecords } from '../../../src/store/migration-record.js';
import { metadataIn, MetadataModel } from '../model/metadata-model.js';
import { never } from '../model/parts.js';
import { unrecorded } from '../model/unrecorded-migration.js';

const migration = { ...unrecorded, warnings: [{ name: 'indexVersionRaised', description: 'Raised.' }] };

describe('a recorded migration', () => {
  let records: MigrationRecords;
  beforeEach(() => {
    records = new MigrationRecords(metadataIn(new MetadataModel()));
  });

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
