import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { Binary, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { Metadata, type MetadataCollection } from '../../../src/store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../../src/store/migration-record.js';
import { TaskRecords } from '../../../src/store/task-record.js';
import { readStoredEntries, storeEntries } from '../../../src/store/task-storage.js';
import { MetadataModel } from '../model/metadata-model.js';
import { never, once } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

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
    const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
    const reversal: MigrationRecord['reversal'] = {
      turns: 0,
      sourceShards: [],
      destinationShards: [],
      accessBack: 'direct',
      openedAt: null,
      openedCatalogEpoch: null,
      isOver: false,
    };
    await records.begin(
      {
        release: '1',
        options,
        source: { name: 'cluster0', clusterId: 'a' },
        destination: { name: 'cluster1', clusterId: 'b' },
        access: 'direct',
        taskIds: [],
        warnings: [],
        reversal,
      },
      never,
    );
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
