import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Binary, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { DdlJournal, UuidPairs } from '../../../src/store/ddl-journal.js';
import { Metadata, type MetadataCollection } from '../../../src/store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../../src/store/migration-record.js';
import { TaskRecords } from '../../../src/store/task-record.js';
import { readStoredEntries, storeEntries, TaskStorage, VerificationStorage } from '../../../src/store/task-storage.js';
import { MetadataModel } from '../model/metadata-model.js';
import { collectionOf, never, once } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

const synced = { collection: collectionOf(), copy: 'copy' };

let model: MetadataModel;
let metadata: Metadata;
/** The writes in order: a router may keep a copy of any of them and apply it after later ones. */
let written: Document[];
/** The next write is applied, and its answer is lost. */
let losesAnswer: boolean;

beforeEach(() => {
  [model, written, losesAnswer] = [new MetadataModel(), [], false];
  const command = (_database: string, sent: Document): Promise<Document> => {
    if (!('find' in sent)) written.push(sent);
    const reply = model.run(sent);
    if (!losesAnswer || 'find' in sent) return Promise.resolve(reply);
    losesAnswer = false;
    return Promise.resolve(model.run(sent));
  };
  metadata = new Metadata(clientWith({ label: 'router', command }), once);
});

const begun = {
  release: '1',
  options: parseStartRequest({ source: 'cluster0', destination: 'cluster1' }),
  source: { name: 'cluster0', clusterId: 'a' },
  destination: { name: 'cluster1', clusterId: 'b' },
  access: 'direct',
} as const;

/** Applies every write so far once more, one at a time, and expects no change. */
function expectNoEffectOfCopies(collection: MetadataCollection): void {
  const before = model.documents(collection);
  for (const copy of written) {
    model.run(copy);
    expect(model.documents(collection), JSON.stringify(copy)).toEqual(before);
  }
}

describe('a copy of a write that a router applies late', () => {
  it('deletes nothing of a stored catalog', async () => {
    const entries = ['a', 'b'].map((name) => new Binary(Buffer.from(name)));
    await storeEntries(metadata, 1, [...entries, ...entries], never);
    written = [];
    await storeEntries(metadata, 2, entries, never);
    expectNoEffectOfCopies('collections');
    expect(await readStoredEntries(metadata, 2, never)).toEqual(entries);
  });

  it('does not set a migration back', async () => {
    const records = new MigrationRecords(metadata);
    const reversal: MigrationRecord['reversal'] = {
      turns: 0,
      sourceShards: [],
      destinationShards: [],
      accessBack: 'direct',
      openedAt: null,
      openedCatalogEpoch: null,
      isOver: false,
    };
    await records.begin({ ...begun, taskIds: [], warnings: [], reversal }, never);
    const epoch = await records.takeLeaderEpoch(never);
    written = [];
    const roundOf = (round: number, sealed: boolean) => ({
      round,
      time: timestampOf(BigInt(round)),
      sealed,
      catalogEpoch: sealed ? epoch : null,
    });
    const verificationOf = (number: number) => ({
      number,
      source: timestampOf(2n),
      destination: timestampOf(3n),
      restored: number > 1,
    });
    const steps: Partial<MigrationRecord>[] = [
      { phase: 'syncing' },
      { phase: 'committing' },
      { phase: 'committing', commit: roundOf(1, false) },
      { phase: 'committing', commit: roundOf(2, false) },
      { commit: roundOf(2, true) },
      { verification: verificationOf(1) },
      { verification: verificationOf(2) },
    ];
    for (const step of steps) {
      losesAnswer = true;
      await records.updateAsLeader(epoch, step, never);
      expectNoEffectOfCopies('migration');
    }
    await records.noteOpening(epoch, { openedCatalogEpoch: epoch }, never);
    losesAnswer = true;
    expect(await records.openAsLeader(epoch, never)).toBe(true);
    await records.noteOpening(epoch, { openedAt: timestampOf(4n) }, never);
    await records.updateAsLeader(epoch, { phase: 'committed' }, never);
    expectNoEffectOfCopies('migration');
    expect(await records.read(never)).toMatchObject({
      phase: 'committed',
      commit: { round: 2, sealed: true },
      verification: { number: 2 },
      reversal: { openedAt: timestampOf(4n), openedCatalogEpoch: epoch },
    });
  });

  it('lowers neither the checkpoint of a task, nor its apply watermark and acknowledged ordinal', async () => {
    const tasks = new TaskRecords(metadata);
    const owner = { syncID: 'a', incarnation: '1' };
    const { epoch } = await tasks.take('shard0', owner, 1, never);
    const times = [5n, 10n].map(timestampOf);
    for (const [index, time] of times.entries()) {
      await tasks.update('shard0', epoch, { applyWatermark: time }, never);
      await tasks.update('shard0', epoch, { checkpoint: time }, never);
      await tasks.update('shard0', epoch, { acknowledged: index + 1 }, never);
    }
    expectNoEffectOfCopies('tasks');
    expect(model.documents('tasks')).toMatchObject([
      { epoch, applyWatermark: times[1], checkpoint: times[1], acknowledged: 2 },
    ]);
  });

  it('makes no DDL change undone that is done', async () => {
    const records = new MigrationRecords(metadata);
    await records.begin({ ...begun, taskIds: [], warnings: [] }, never);
    const epoch = await records.takeLeaderEpoch(never);
    const journal = new DdlJournal(metadata, records);
    const change = { uuid: 'a', database: 'shop', name: 'a', to: null, droppedUuid: null, time: timestampOf(1n) };
    losesAnswer = true;
    await journal.append(epoch, 1, { operation: 'create', ...change }, never);
    await journal.finish(epoch, 1, new Binary(Buffer.from('a')), never);
    expectNoEffectOfCopies('ddlChanges');
    expect(model.documents('ddlChanges')).toMatchObject([{ state: 'done' }]);
    await journal.append(await records.takeLeaderEpoch(never), 1, { operation: 'drop', ...change }, never);
    expect(model.documents('ddlChanges')).toMatchObject([{ operation: 'drop', state: 'undone' }]);
  });

  it('gives no collection back its former counterpart', async () => {
    for (const destinationUuid of ['1', '2']) {
      losesAnswer = true;
      const pairs = await UuidPairs.read(metadata, 1, never);
      await pairs.record([{ sourceUuid: 'a', destinationUuid }], never);
    }
    expectNoEffectOfCopies('uuids');
    expect(model.documents('uuids')).toMatchObject([{ destinationUuid: '2' }]);
  });

  it('puts no partition back to an earlier state', async () => {
    const storage = new TaskStorage(metadata, 'shard0', 2, never);
    const { copy } = synced;
    await storage.claimCopies([copy]);
    const save = storage.saverOf(copy);
    for (const dirty of [false, true]) {
      losesAnswer = true;
      await save(synced.collection, [{ state: 'copying', dirty }]);
    }
    expectNoEffectOfCopies('partitions');
    expect(model.documents('partitions')).toMatchObject([{ partitions: [{ dirty: true }] }]);
  });

  it('removes no document to re-read that was added again', async () => {
    const storage = new TaskStorage(metadata, 'shard0', 2, never);
    for (const reason of ['hotDocument', 'replayedDelta']) {
      if (reason === 'replayedDelta') await storage.remove(['a', 'b']);
      losesAnswer = true;
      await storage.upsert(['a', 'b'].map((_id) => ({ _id, reason })));
    }
    expectNoEffectOfCopies('rereads');
    expect(model.documents('rereads')).toMatchObject([{ reason: 'replayedDelta' }, { reason: 'replayedDelta' }]);
    losesAnswer = true;
    await storage.remove(['a', 'b']);
    expect(model.documents('rereads')).toEqual([]);
  });

  it('puts no part of a comparison back to an earlier state', async () => {
    const storage = new VerificationStorage(metadata, 'shard0', 2, never);
    for (const done of [true, false]) {
      losesAnswer = true;
      await storage.saveParts('copy', [{ done }]);
    }
    expectNoEffectOfCopies('verificationParts');
    expect(await storage.claim()).toMatchObject([{ parts: [{ done: false }] }]);
  });

  it('removes no mismatch that was found again', async () => {
    const storage = new VerificationStorage(metadata, 'shard0', 2, never);
    await storage.saveMismatches([{ _id: 'a' }]);
    written = [];
    await storage.removeMismatches(['a']);
    const removal = [...written];
    await storage.saveMismatches([{ _id: 'a' }]);
    written = removal;
    expectNoEffectOfCopies('mismatches');
    await storage.removeMismatches(['a']);
    expect(model.documents('mismatches')).toEqual([]);
  });

  it.each([[{}], [{ written: { epoch: 1, number: 9 } }]])(
    'is told from writes of a former owner, whose documents have %j',
    async (former) => {
      const task = 'shard0';
      await metadata.upsertMany('partitions', [{ _id: 'shard0/copy', task, epoch: 1, copy: 'copy', ...former }], never);
      await metadata.upsertMany('rereads', [{ _id: 'shard0/a', task, epoch: 1, ...former }], never);
      await metadata.upsertMany('mismatches', [{ _id: 'a/shard0', task, epoch: 1, ...former }], never);
      await metadata.upsertMany('verificationParts', [{ _id: 'copy/shard0', task, epoch: 1, ...former }], never);
      const storage = new TaskStorage(metadata, task, 2, never);
      const verification = new VerificationStorage(metadata, task, 2, never);
      await storage.claim(['copy']);
      await verification.claim();
      await storage.saverOf('copy')(synced.collection, [{ dirty: true }]);
      await storage.remove(['a']);
      await verification.saveParts('copy', [{ done: true }]);
      await verification.removeMismatches(['a']);
      expect(model.documents('partitions')).toMatchObject([{ epoch: 2, partitions: [{ dirty: true }] }]);
      expect(model.documents('verificationParts')).toMatchObject([{ epoch: 2, parts: [{ done: true }] }]);
      expect([...model.documents('rereads'), ...model.documents('mismatches')]).toEqual([]);
    },
  );

  it('does not take a task from its owner', async () => {
    const tasks = new TaskRecords(metadata);
    const ownerOf = (incarnation: string) => ({ syncID: 'a', incarnation });
    await tasks.take('shard0', ownerOf('1'), 1, never);
    expectNoEffectOfCopies('tasks');
    const { epoch } = await tasks.take('shard0', ownerOf('2'), 1, never);
    expectNoEffectOfCopies('tasks');
    await expect(tasks.update('shard0', epoch, { paused: true }, never)).resolves.toBeUndefined();
    expect(model.documents('tasks')).toMatchObject([{ epoch: 2, owner: ownerOf('2') }]);
  });
});

it('a task is taken once when the write is repeated', async () => {
  const tasks = new TaskRecords(metadata);
  const owner = { syncID: 'a', incarnation: '1' };
  await tasks.take('shard0', owner, 1, never);
  const command = (_database: string, sent: Document): Promise<Document> => {
    const reply = model.run(sent);
    const isTaking = '$set' in ((sent.update as Document | undefined) ?? {});
    return Promise.resolve(isTaking ? model.run(sent) : reply);
  };
  const again = new TaskRecords(new Metadata(clientWith({ label: 'router', command }), once));
  expect(await again.take('shard0', owner, 1, never)).toMatchObject({ epoch: 2, owner });
});
