import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Binary, type Document, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { DdlJournal, type NewDdlEntry, UuidPairs } from '../../../src/store/ddl-journal.js';
import { Metadata } from '../../../src/store/metadata.js';
import { MigrationRecords } from '../../../src/store/migration-record.js';
import { MetadataModel } from '../model/metadata-model.js';
import { never, once } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

let metadata: Metadata;
let records: MigrationRecords;
let journal: DdlJournal;
let former: number;
let present: number;
/** Commands that a frozen leader is about to send, by what they write. */
let frozen: (() => void) | null;
let freeze: string | null;

beforeEach(async () => {
  const model = new MetadataModel();
  [frozen, freeze] = [null, null];
  const command = async (_database: string, sent: Document): Promise<Document> => {
    if (freeze !== null && sent.update === freeze) {
      freeze = null;
      await new Promise<void>((resolve) => (frozen = resolve));
    }
    return model.run(sent);
  };
  metadata = new Metadata(clientWith({ label: 'router', command }), once);
  records = new MigrationRecords(metadata);
  journal = new DdlJournal(metadata, records);
  const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } });
  const clusters = {
    source: { name: 'cluster0', clusterId: 'aa' },
    destination: { name: 'cluster1', clusterId: 'bb' },
  };
  await records.begin(
    { release: '2.0.0', options, ...clusters, access: 'direct', taskIds: ['shard0'], warnings: [] },
    never,
  );
  former = await records.takeLeaderEpoch(never);
});

const found = (name: string): NewDdlEntry => ({
  operation: 'drop',
  uuid: name.repeat(32),
  database: 'shop',
  name,
  to: null,
  droppedUuid: null,
  time: new Timestamp(7n),
});
const read = async (): Promise<unknown[]> => {
  const known = (await records.read(never))?.ddlChanges.known ?? 0;
  return (await journal.readAfter(0, known, never)).map(({ ordinal, name, state }) => [ordinal, name, state]);
};

async function replaceLeader(): Promise<void> {
  present = await records.takeLeaderEpoch(never);
  await journal.claim(present, never);
}

describe('the DDL journal', () => {
  it('has its entries in order, with their state', async () => {
    for (let ordinal = 1; ordinal <= 12; ordinal += 1) await journal.append(former, ordinal, found('a'), never);
    await journal.finish(former, 1, new Binary(Buffer.from('x')), never);
    await journal.finish(former, 1, null, never);
    const ddlChanges = await journal.readAfter(0, 12, never);
    expect(ddlChanges.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect([ddlChanges[0]?.state, ddlChanges[0]?.entry?.toString(), ddlChanges[1]?.state]).toEqual([
      'done',
      'x',
      'undone',
    ]);
    expect(await journal.readAfter(10, 11, never)).toMatchObject([{ ordinal: 11 }]);
    expect((await records.read(never))?.ddlChanges).toEqual({ known: 12, done: 1 });
  });

  it('does not count the entry of a former leader that resumes before its successor writes there', async () => {
    await replaceLeader();
    await expect(journal.append(former, 1, found('a'), never)).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(await read()).toEqual([]);
    await journal.append(present, 1, found('b'), never);
    expect(await read()).toEqual([[1, 'b', 'undone']]);
  });

  it('is not overwritten by a former leader that resumes after its successor has written there', async () => {
    freeze = 'ddlChanges';
    const thawing = journal.append(former, 1, found('a'), never);
    await replaceLeader();
    await journal.append(present, 1, found('b'), never);
    frozen?.();
    await expect(thawing).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(await read()).toEqual([[1, 'b', 'undone']]);
  });

  it('does not count an entry under the epoch of a former leader', async () => {
    freeze = 'migration';
    const thawing = journal.append(former, 1, found('a'), never);
    await expect.poll(() => frozen).not.toBeNull();
    await replaceLeader();
    await journal.append(present, 1, found('b'), never);
    frozen?.();
    await expect(thawing).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(await read()).toEqual([[1, 'b', 'undone']]);
  });

  it('accepts no result of a former leader', async () => {
    await journal.append(former, 1, found('a'), never);
    await replaceLeader();
    await expect(journal.finish(former, 1, new Binary(Buffer.from('old')), never)).rejects.toMatchObject({
      error: 'staleEpoch',
    });
    expect(await read()).toEqual([[1, 'a', 'undone']]);
    await journal.finish(present, 1, null, never);
    expect(await journal.readAfter(0, 1, never)).toMatchObject([{ state: 'done', entry: null }]);
  });
});

it('the UUIDs of the destination are those that the present leader has recorded', async () => {
  const old = await UuidPairs.read(metadata, former, never);
  await old.record([{ sourceUuid: 'a', destinationUuid: '1' }], never);
  await replaceLeader();
  const pairs = await UuidPairs.read(metadata, present, never);
  await pairs.record([{ sourceUuid: 'a', destinationUuid: '2' }], never);
  await expect(old.record([{ sourceUuid: 'a', destinationUuid: '3' }], never)).rejects.toMatchObject({
    error: 'staleEpoch',
  });
  const again = await UuidPairs.read(metadata, present, never);
  expect([again.destinationOf('a'), again.destinationOf('b'), again.isRecorded('2'), again.isRecorded('3')]).toEqual([
    '2',
    null,
    true,
    false,
  ]);
});
