import { Binary, type Document, Long } from 'mongodb';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { beforeEach, describe, expect, it } from 'vitest';
import { Metadata, MetadataWriteError } from '../../../src/store/metadata.js';
import { MigrationRecords, type NewMigration } from '../../../src/store/migration-record.js';
import { TaskRecords } from '../../../src/store/task-record.js';
import { readStoredEntries, TaskStorage, storeEntries } from '../../../src/store/task-storage.js';
import { MetadataModel } from '../model/metadata-model.js';
import { collectionOf, never, once } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

let model: MetadataModel;
let metadata: Metadata;
let commands: Document[];
/** Upper bound of the documents in one reply, as with large ones. */
let replyDocumentsMax: number;

beforeEach(() => {
  model = new MetadataModel();
  commands = [];
  replyDocumentsMax = Infinity;
  const command = (_database: string, sent: Document): Promise<Document> => {
    commands.push(sent);
    if ('killCursors' in sent) return Promise.resolve({ ok: 1 });
    const reply = model.run(sent);
    const cursor = reply.cursor as { firstBatch: Document[] } | undefined;
    if (cursor === undefined) return Promise.resolve(reply);
    const id = cursor.firstBatch.length > replyDocumentsMax ? Long.fromNumber(7) : 0;
    return Promise.resolve({ cursor: { id, firstBatch: cursor.firstBatch.slice(0, replyDocumentsMax) } });
  };
  metadata = new Metadata(clientWith({ label: 'router', command }), once);
});

describe('metadata', () => {
  it('is read and written at majority', async () => {
    await metadata.upsertMany('rereads', [{ _id: 'a' }], never);
    await metadata.updateOne('rereads', { _id: 'a' }, { $set: { b: 1 } }, never);
    await metadata.findAndUpdate('rereads', { _id: 'a' }, { $inc: { b: 1 } }, never);
    await metadata.updateMany('rereads', { b: 2 }, { $set: { c: 1 } }, never);
    await metadata.findOne('rereads', { _id: 'a' }, never);
    await metadata.find('rereads', {}, never);
    await metadata.deleteMany('rereads', { _id: 'a' }, never);
    for (const command of commands) {
      if ('find' in command) expect(command.readConcern).toEqual({ level: 'majority' });
      else expect(command.writeConcern).toEqual({ w: 'majority' });
    }
  });

  it('has an index for every condition: servers may refuse others, which routers do not show', async () => {
    const set = { $set: { c: 1 } };
    for (const filter of [{ _id: 'a', epoch: 1 }, { epoch: 1 }]) {
      await metadata.updateOne('rereads', filter, set, never);
      await metadata.findAndUpdate('rereads', filter, set, never);
      await metadata.updateMany('rereads', filter, set, never);
      await metadata.findOne('rereads', filter, never);
      await metadata.count('rereads', filter, never);
      await metadata.deleteMany('rereads', filter, never);
    }
    const hints = commands.map(({ hint, updates, deletes }) => {
      const [statement] = ((updates ?? deletes) as Document[] | undefined) ?? [];
      return (statement === undefined ? hint : statement.hint) as unknown;
    });
    expect(hints.slice(0, 6)).toEqual(Array(6).fill(undefined));
    expect(hints.slice(6)).toEqual(Array(6).fill({ _id: 1 }));
  });

  it('is read to the end, even when a reply has fewer documents than requested', async () => {
    await metadata.upsertMany(
      'rereads',
      ['a', 'b', 'c', 'd', 'e'].map((_id) => ({ _id, task: 's' })),
      never,
    );
    replyDocumentsMax = 2;
    expect((await metadata.find('rereads', { task: 's' }, never)).map(({ _id }) => String(_id))).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ]);
    expect(commands.filter((command) => 'killCursors' in command)).toHaveLength(2);
  });

  it('has the names of all copies, even when they need several replies', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'].map((copy) => ({ copy, task: 's' }));
    await metadata.upsertMany(
      'partitions',
      names.map(({ copy, task }) => ({ _id: `${task}.${copy}`, copy, task })),
      never,
    );
    replyDocumentsMax = 2;
    expect((await metadata.findNames('partitions', {}, never)).map(({ copy, task }) => ({ copy, task }))).toEqual(
      names,
    );
  });

  it('is read in one reply where possible', async () => {
    await metadata.upsertMany('rereads', [{ _id: 'a', task: 's' }], never);
    commands = [];
    await metadata.find('rereads', { task: 's' }, never);
    expect(commands).toHaveLength(1);
  });

  it.each([
    ['a statement', { writeErrors: [{ index: 0, code: 11000 }] }, 11000],
    ['a write concern', { writeConcernError: { code: 64 } }, 64],
  ])('is not written when %s failed', async (_what, reply, code) => {
    const failing = new Metadata(clientWith({ label: 'router', command: () => Promise.resolve(reply) }), once);
    const error = await failing.deleteMany('rereads', {}, never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MetadataWriteError);
    expect(error).toMatchObject({ code });
  });
});

describe('the migration record', () => {
  const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } });
  const migration: NewMigration = {
    release: '2.0.0',
    options,
    source: { name: 'cluster0', clusterId: 'aa' },
    destination: { name: 'cluster1', clusterId: 'bb' },
    access: 'direct',
    taskIds: ['shard0'],
    warnings: [],
  };
  const failure = { error: 'retriesExhausted' as const, errorDescription: 'x' };

  it('is joined only by instances with the same options and clusters', async () => {
    const records = new MigrationRecords(metadata);
    expect((await records.begin(migration, never)).phase).toBe('starting');
    expect((await records.begin(migration, never)).leaderEpoch).toBe(0);
    const other = parseStartRequest({
      source: 'cluster0',
      destination: 'cluster1',
      buildIndexes: 'never',
      verification: { enabled: false },
    });
    await expect(records.begin({ ...migration, options: other }, never)).rejects.toMatchObject({
      error: 'optionsDiffer',
    });
    await expect(
      records.begin({ ...migration, source: { name: 'cluster0', clusterId: 'cc' } }, never),
    ).rejects.toMatchObject({ error: 'migrationExists' });
  });

  it('accepts only writes of the present leader', async () => {
    const records = new MigrationRecords(metadata);
    await records.begin(migration, never);
    const former = await records.takeLeaderEpoch(never);
    const present = await records.takeLeaderEpoch(never);
    await expect(records.updateAsLeader(former, { phase: 'syncing' }, never)).rejects.toMatchObject({
      error: 'staleEpoch',
    });
    await expect(records.openAsLeader(former, never)).rejects.toMatchObject({ error: 'staleEpoch' });
    await records.updateAsLeader(present, { phase: 'syncing' }, never);
    expect(await records.read(never)).toMatchObject({ phase: 'syncing', leaderEpoch: 2 });
  });

  it('decides once between failed and opening', async () => {
    const records = new MigrationRecords(metadata);
    await records.begin(migration, never);
    const epoch = await records.takeLeaderEpoch(never);
    for (const phase of ['syncing', 'committing'] as const) await records.updateAsLeader(epoch, { phase }, never);
    await records.fail(failure, never);
    await records.fail({ error: 'internalError', errorDescription: 'later' }, never);
    expect(await records.openAsLeader(epoch, never)).toBe(false);
    expect(await records.read(never)).toMatchObject({ phase: 'committing', failure });
  });

  it('cannot fail once it is opening, and the opening can be repeated', async () => {
    const records = new MigrationRecords(metadata);
    await records.begin(migration, never);
    const epoch = await records.takeLeaderEpoch(never);
    for (const phase of ['syncing', 'committing'] as const) await records.updateAsLeader(epoch, { phase }, never);
    expect([await records.openAsLeader(epoch, never), await records.openAsLeader(epoch, never)]).toEqual([true, true]);
    await records.fail(failure, never);
    expect(await records.read(never)).toMatchObject({ phase: 'opening', failure: null });
  });
});

describe('a task record', () => {
  it('gets a new epoch with every owner, keeps its sessions, and refuses former owners', async () => {
    const tasks = new TaskRecords(metadata);
    const first = await tasks.take('shard0', { syncID: 'a', incarnation: '1' }, 2, never);
    const second = await tasks.take('shard0', { syncID: 'a', incarnation: '2' }, 5, never);
    expect([first.epoch, second.epoch, second.sessions.length]).toEqual([1, 2, 2]);
    expect(second.sessions.map((session) => session.toString('hex'))).toEqual(
      first.sessions.map((session) => session.toString('hex')),
    );
    await expect(tasks.update('shard0', first.epoch, { paused: true }, never)).rejects.toMatchObject({
      error: 'staleEpoch',
    });
    await tasks.update('shard0', second.epoch, { paused: true }, never);
    expect(await tasks.readAll(never)).toMatchObject([{ _id: 'shard0', paused: true, owner: { incarnation: '2' } }]);
  });

  it('is not taken back by a process that was frozen while it took it', async () => {
    const tasks = new TaskRecords(metadata);
    const ownerOf = (incarnation: string) => ({ syncID: 'a', incarnation });
    const asked: number[] = [];
    const isReplaced = async (): Promise<boolean> => {
      asked.push((await tasks.readAll(never))[0]?.epoch ?? -1);
      if (asked.length > 1) return true;
      // The other process comes between the question and the write.
      await tasks.take('shard0', ownerOf('2'), 1, never);
      return false;
    };
    await expect(tasks.take('shard0', ownerOf('1'), 1, never, { fleet: { isReplaced } })).rejects.toMatchObject({
      error: 'staleEpoch',
    });
    expect(asked).toEqual([0, 1]);
    expect(await tasks.readAll(never)).toMatchObject([{ epoch: 1, owner: ownerOf('2') }]);
  });
});

describe('partitions and documents to re-read of a task', () => {
  const collection = collectionOf();
  const uuids = [collection.uuid];

  function storageOf(epoch: number, task = 'shard0'): TaskStorage {
    return new TaskStorage(metadata, task, epoch, never);
  }

  it('are claimed by a new owner; afterwards a former one can write none of them', async () => {
    const former = storageOf(1);
    await former.claim(uuids);
    await former.saverOf(collection.uuid)(collection, [{ state: 'copying' }]);
    await former.upsert([{ _id: 'a', uuid: collection.uuid }]);
    const present = storageOf(2);
    const { partitions, rereads } = await present.claim(uuids);
    expect(partitions.get(collection.uuid)).toEqual([{ state: 'copying' }]);
    expect(rereads).toHaveLength(1);
    await expect(former.saverOf(collection.uuid)(collection, [{ state: 'done' }])).rejects.toMatchObject({
      error: 'staleEpoch',
    });
    await expect(former.upsert([{ _id: 'a', uuid: collection.uuid }])).rejects.toMatchObject({ error: 'staleEpoch' });
    await former.remove(['a']);
    expect((await present.claim(uuids)).rereads).toHaveLength(1);
    await present.remove(['a']);
    expect((await present.claim(uuids)).rereads).toEqual([]);
  });

  it('are claimed before they exist: a former owner cannot create them', async () => {
    const former = storageOf(1);
    await former.claim(uuids);
    const present = storageOf(2);
    expect((await present.claim(uuids)).partitions.size).toBe(0);
    await expect(former.saverOf(collection.uuid)(collection, [{ state: 'done' }])).rejects.toMatchObject({
      error: 'staleEpoch',
    });
    await present.saverOf(collection.uuid)(collection, [{ state: 'copying' }]);
    expect((await present.claim(uuids)).partitions.get(collection.uuid)).toEqual([{ state: 'copying' }]);
  });

  it('are not claimed by a former owner that was frozen before its claim', async () => {
    await storageOf(2).claim(uuids);
    await expect(storageOf(1).claim(uuids)).rejects.toMatchObject({ error: 'staleEpoch' });
    await expect(storageOf(2).saverOf(collection.uuid)(collection, [])).resolves.toBeUndefined();
  });

  it('of a former owner are not read when written after the claim', async () => {
    const present = storageOf(2);
    await present.claim(uuids);
    await storageOf(1).upsert([{ _id: 'late', uuid: collection.uuid }]);
    expect(model.documents('rereads')).toMatchObject([{ epoch: 1 }]);
    await expect(present.upsert([{ _id: 'late', uuid: collection.uuid }])).resolves.toBeUndefined();
    expect(model.documents('rereads')).toMatchObject([{ epoch: 2 }]);
  });

  it('of other tasks stay unchanged', async () => {
    await storageOf(1, 'shard1').upsert([{ _id: 'a', uuid: collection.uuid }]);
    expect((await storageOf(2).claim(uuids)).rereads).toEqual([]);
    await storageOf(2).remove(['a']);
    expect(model.documents('rereads')).toHaveLength(1);
  });
});

describe('the stored catalog', () => {
  const entriesOf = (...names: string[]) => names.map((name) => new Binary(Buffer.from(name)));

  it('keeps its order, however many collections there are', async () => {
    const entries = entriesOf(...Array.from({ length: 12 }, (_, index) => `c${index}`));
    await storeEntries(metadata, 1, entries, never);
    await storeEntries(metadata, 1, entries, never);
    expect(await readStoredEntries(metadata, 1, never)).toEqual(entries);
  });

  it('is not changed by a former leader that resumes: its entries are not read', async () => {
    await storeEntries(metadata, 1, entriesOf('broken off'), never);
    await storeEntries(metadata, 2, entriesOf('a', 'b'), never);
    await storeEntries(metadata, 1, entriesOf('late'), never);
    expect(await readStoredEntries(metadata, 2, never)).toEqual(entriesOf('a', 'b'));
  });
});

describe('the source access', () => {
  it('is recorded by the first instance, which refuses others with another access', async () => {
    const records = new MigrationRecords(metadata);
    const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
    const wanted: NewMigration = {
      release: '1',
      options,
      source: { name: 'cluster0', clusterId: 'a' },
      destination: { name: 'cluster1', clusterId: 'b' },
      access: 'router',
      taskIds: ['s'],
      warnings: [],
    };
    expect(await records.begin(wanted, never)).toMatchObject({ access: 'router' });
    expect(await records.begin(wanted, never)).toMatchObject({ access: 'router' });
    await expect(records.begin({ ...wanted, access: 'direct' }, never)).rejects.toMatchObject({
      error: 'optionsDiffer',
      errorDescription: expect.stringContaining('through the router') as string,
    });
    expect(await records.read(never)).toMatchObject({ access: 'router' });
  });
});
