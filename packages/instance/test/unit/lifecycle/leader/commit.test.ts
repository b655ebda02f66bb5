import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { type Document, MongoNetworkError, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { BuildsUnderWay } from '../../../../src/catalog/index-builds.js';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { storedEntry } from '../../../../src/catalog/catalog-bytes.js';
import type { CallOptions, ClusterClient } from '../../../../src/cluster/node-client.js';
import { commit } from '../../../../src/lifecycle/leader/commit.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { storeEntries } from '../../../../src/store/task-storage.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { fakeCluster, serverError } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { depsWith } from '../../model/deps-with.js';
import { metadataIn, MetadataModel } from '../../model/metadata-model.js';
import { recordWith, roundWith, taskWith } from '../../model/migration-state.js';
import { never, once, settled } from '../../model/parts.js';

const leaderEpoch = 1;
const ttlOff_seconds = 2_147_483_647;
let server: FakeCatalogServer;
/** From either on, users may write to the destination. */
const opens: ReadonlySet<string> = new Set(['destination: setUserWriteBlockMode', 'canWrite']);
/** A server that accepts changes of attributes and does not carry them out. */
let forgetsChanges: boolean;
let eventsAbove: number;
/** UUIDs of the collections in which a task has seen deletes after the commit time. */
let deletedIn: string[];
/** Those of them that a task reports only while attributes are being restored. */
let eventsLate: number;
/** Another instance has become the leader. */
let isReplaced: boolean;
/** What a task reports once its stream is read up to the leader's time, which takes this many notes on the source. */
let eventsAtLook: number;
let notesUntilRead: number;
let notes: number;
let log: string[];
/** How the source answers after the decision to open. */
let answer: () => Promise<Document>;
/** How long the destination takes to return the record, as during a failover. */
let reading: () => Promise<void>;
let record: MigrationRecord;
/** Every wait of the leader, in order, and whether it ends. */
let waits: number[];
let waitsAreOver: boolean;
/** What the source shows of its block of user writes, look by look; the last one stays. */
let blocks: ('stands' | 'gone' | 'unreadable')[];

const blocking = parseStartRequest({
  source: 'cluster0',
  destination: 'cluster1',
  enableUserWriteBlocking: true,
  verification: { enabled: false },
});

beforeEach(() => {
  server = new FakeCatalogServer(['rs'], 6);
  server.add('shop.orders', {
    indexes: [
      { v: 2, key: { t: 1 }, name: 'ttl', expireAfterSeconds: ttlOff_seconds },
      { v: 2, key: { u: 1 }, name: 'u_1' },
    ],
  });
  [forgetsChanges, eventsAbove, eventsLate, isReplaced, log] = [false, 0, 0, false, []];
  deletedIn = [];
  [eventsAtLook, notesUntilRead, notes] = [0, 0, 0];
  answer = () => Promise.resolve({ ok: 1 });
  reading = () => Promise.resolve();
  [waits, waitsAreOver, blocks] = [[], false, ['stands']];
});

function destination(): ClusterClient {
  const { client } = server;
  const command = (database: string, sent: Document, options: CallOptions): Promise<Document> => {
    if ('collMod' in sent) log.push('attribute');
    if ('appendOplogNote' in sent)
      return Promise.resolve({
        operationTime: new Timestamp({ t: 200, i: log.some((each) => opens.has(each)) ? 9 : 1 }),
      });
    if ('setUserWriteBlockMode' in sent || 'balancerStart' in sent)
      return Promise.resolve({ ok: log.push(`destination: ${Object.keys(sent)[0]}`) });
    return forgetsChanges && 'collMod' in sent ? Promise.resolve({ ok: 1 }) : client.command(database, sent, options);
  };
  const router = clientWith({ command, openCursor: client.openCursor.bind(client) });
  return fakeCluster({ router, kind: 'replicaSet', shardIds: ['rs'], version: [6, 0, 0], clusterId: '0b' });
}

function source(): ClusterClient {
  const { client } = server;
  const command = (database: string, sent: Document, options: CallOptions): Promise<Document> => {
    if (sent.aggregate === 1) return Promise.resolve({ cursor: { firstBatch: [] } });
    if ('appendOplogNote' in sent)
      return Promise.resolve({ operationTime: new Timestamp({ t: 100, i: (notes += 1) }) });
    if (record.phase === 'committing' && sent.find === 'user_writes_critical_sections') {
      const block = blocks.length > 1 ? blocks.shift() : blocks[0];
      log.push(`look at block ${block}`);
      if (block === 'unreadable') throw serverError(13, 'Unauthorized');
      return Promise.resolve({
        cursor: { firstBatch: block === 'stands' ? [{ _id: '', blockUserWrites: true }] : [] },
      });
    }
    if (record.phase === 'committing' && 'setUserWriteBlockMode' in sent)
      return Promise.resolve({ ok: log.push('source blocked') });
    if (record.phase === 'committing') return client.command(database, sent, options);
    // No active block makes the command unnecessary.
    if (sent.find === 'user_writes_critical_sections') return Promise.resolve({ cursor: { firstBatch: [] } });
    log.push(`source: ${Object.keys(sent)[0]}`);
    return answer();
  };
  const router = clientWith({ command, openCursor: client.openCursor.bind(client) });
  return fakeCluster({ router, kind: 'replicaSet', shardIds: ['rs'], version: [6, 0, 0] });
}

async function run(changes: Partial<MigrationRecord> = {}): Promise<void> {
  const model = new MetadataModel();
  const metadata = metadataIn(model);
  const indexes = [
    { v: 2, key: { _id: 1 }, name: '_id_' },
    { v: 2, key: { t: 1 }, name: 'ttl', expireAfterSeconds: 60 },
    { v: 2, key: { u: 1 }, name: 'u_1', unique: true },
  ];
  const entry: CatalogEntry = {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '0a'.repeat(16),
    options: {},
    indexes,
    sharding: null,
    primaryShard: 'rs',
    sizeBytes: 0,
    documentCount: 0,
  };
  await storeEntries(metadata, leaderEpoch, [storedEntry(entry)], never, 'committedCollections');
  record = recordWith({
    phase: 'committing',
    taskIds: ['rs'],
    commit: roundWith({ sealed: true, catalogEpoch: leaderEpoch }),
    ...changes,
  });
  const task = taskWith({ _id: 'rs', drained: { round: 1, eventsAbove, deletedIn } });
  const look = (): void => {
    if (task.drained === null || !record.lastLook || notes < notesUntilRead) return;
    task.drained.lookedTo = record.lastLook;
    task.drained.eventsAbove += eventsAtLook;
  };
  const view = { record, tasks: new Map([['rs', task]]) };
  const refresh = () => {
    if (task.drained !== null && log.includes('attribute')) task.drained.eventsAbove += eventsLate;
    look();
    return Promise.resolve(view);
  };
  const deps = depsWith({
    leaderEpoch,
    builds: new BuildsUnderWay(),
    runtime: {
      retrying: once,
      logger: { info: () => undefined, warn: () => undefined },
      clock: { sleep, monotonic_ms: () => 0 },
    },
    source: source(),
    destination: destination(),
    fleet: { wake: () => undefined },
    metadata,
    watch: { view, refresh, until: () => refresh().then(() => view) },
    records: {
      read: () => reading().then(() => record),
      confirmLeader: () => (isReplaced ? Promise.reject(new ConvoyError('staleEpoch')) : Promise.resolve()),
      openAsLeader: () => {
        record.phase = 'opening';
        return Promise.resolve(Boolean(log.push('opening')));
      },
      updateAsLeader: (_epoch: number, set: Partial<MigrationRecord>) => {
        Object.assign(record, set);
        return Promise.resolve(void log.push(...Object.keys(set).filter((name) => name !== 'handOver')));
      },
    },
  });
  await commit(deps, never);
}

/** Longer than any wait that ends. */
async function failOver(): Promise<void> {
  await settled();
  await settled();
}

function sleep(duration_ms: number): Promise<void> {
  waits.push(duration_ms);
  return waitsAreOver ? settled() : new Promise(() => undefined);
}

describe('the end of a commit', () => {
  it('opens the destination only after attributes have their final form', async () => {
    await run();
    expect(log).toEqual(['attribute', 'attribute', 'attribute', 'lastLook', 'opening', 'canWrite', 'phase']);
    const indexes = server.databases.get('shop')?.collections.get('orders')?.indexes ?? [];
    expect(
      indexes.map(({ name, expireAfterSeconds, unique }) => [name, expireAfterSeconds, unique] as unknown[]),
    ).toEqual([
      ['_id_', undefined, undefined],
      ['ttl', 60, undefined],
      ['u_1', undefined, true],
    ]);
  });

  it('records the times for consumers of change streams once, before the destination takes writes', async () => {
    await run();
    expect(record.handOver).toEqual({ source: record.commit?.time, destination: new Timestamp({ t: 200, i: 1 }) });
    const handOver = { source: new Timestamp({ t: 1, i: 1 }), destination: new Timestamp({ t: 2, i: 2 }) };
    await run({ phase: 'opening', handOver });
    expect(record.handOver).toEqual(handOver);
  });

  it('takes the time for consumers of change streams before the destination lets users write', async () => {
    await run({ options: blocking });
    expect(log).toContain('destination: setUserWriteBlockMode');
    expect(record.handOver?.destination).toEqual(new Timestamp({ t: 200, i: 1 }));
  });

  it('changes nothing for a leader that was replaced', async () => {
    isReplaced = true;
    await expect(run()).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(log).toEqual([]);
  });

  it('is refused when the destination still has a temporary form', async () => {
    forgetsChanges = true;
    await expect(run()).rejects.toMatchObject({
      error: 'catalogDiffers',
      errorDescription: expect.stringMatching(/ttl differs in expireAfterSeconds/) as unknown,
    });
    expect(log).not.toContain('opening');
  });

  it('is refused when a task has seen writes after the commit time', async () => {
    eventsAbove = 1;
    await expect(run()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
    expect(log).not.toContain('opening');
  });

  it('allows for documents that the source has expired after the commit time, and for no other deletes', async () => {
    deletedIn = ['0a'.repeat(16)];
    await run();
    expect(log).toContain('opening');
    deletedIn.push('0b'.repeat(16));
    await expect(run()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
  });

  it('is refused when a task has reported such writes just before the opening', async () => {
    eventsLate = 1;
    await expect(run()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
    expect(log).not.toContain('opening');
  });

  it('is refused for a late write that a task finds only when it reads its stream up to a current time', async () => {
    [eventsAtLook, notesUntilRead] = [1, 3];
    await expect(run()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
    expect([log.includes('opening'), notes]).toEqual([false, 3]);
  });

  it('waits until the streams of all tasks are read up to a current time', async () => {
    notesUntilRead = 4;
    await run();
    expect([log.includes('opening'), notes]).toEqual([true, 4]);
  });
});

describe('a source that refuses the writes of users', () => {
  const order = () => log.filter((entry) => /block|lastLook|opening/.test(entry));

  it('is asked once more, after late writes are refused and before the opening, whether its block stands', async () => {
    await run({ options: blocking });
    expect(order().slice(0, 3)).toEqual(['lastLook', 'look at block stands', 'opening']);
  });

  it('is blocked again when its block is gone, and looked at again after that', async () => {
    blocks = ['gone', 'gone', 'stands'];
    await run({ options: blocking });
    expect(order().slice(0, 7)).toEqual([
      'lastLook',
      'look at block gone',
      'look at block gone',
      'source blocked',
      'lastLook',
      'look at block stands',
      'opening',
    ]);
  });

  it('keeps the destination closed when writes came in while its block was gone', async () => {
    blocks = ['gone', 'gone', 'stands'];
    [eventsAtLook, notesUntilRead] = [1, 3];
    await expect(run({ options: blocking })).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
    expect(log).not.toContain('opening');
  });

  it('is taken at its word by a user who may not see the block', async () => {
    blocks = ['unreadable'];
    await run({ options: blocking });
    expect(order().slice(0, 3)).toEqual(['lastLook', 'look at block unreadable', 'opening']);
  });
});

describe('once the opening is decided', () => {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const bothAsked = { options, balancers: { source: true, destination: true } };
  const opened = [
    'opening',
    'source: setUserWriteBlockMode',
    'warnings',
    'destination: setUserWriteBlockMode',
    'canWrite',
    'destination: balancerStart',
    'source: balancerStart',
    'warnings',
    'phase',
  ];
  const fromOpening = (): string[] => log.slice(log.indexOf('opening'));

  it('a source that is gone does not prevent the opening, and warnings name what it was not asked', async () => {
    answer = () => Promise.reject(new MongoNetworkError('connection refused'));
    await run(bothAsked);
    expect(fromOpening()).toEqual(opened);
    expect(record).toMatchObject({ phase: 'committed', canWrite: true });
    expect(record.warnings).toEqual([
      {
        name: 'sourceNotClosedAgain',
        description: expect.stringMatching(
          /cluster0 could not be asked .*MongoNetworkError.*setUserWriteBlockMode/,
        ) as unknown,
      },
      {
        name: 'sourceBalancerLeftOff',
        description: expect.stringMatching(/balancer of cluster0 .*MongoNetworkError.*sh\.startBalancer/) as unknown,
      },
    ]);
  });

  it('a source that does not answer is given a bounded time', async () => {
    answer = () => new Promise(() => undefined);
    waitsAreOver = true;
    await run(bothAsked);
    expect(fromOpening()).toEqual(opened);
    expect(waits).toEqual([10_000, 30_000]);
    expect(record.warnings.map(({ name }) => name)).toEqual(['sourceNotClosedAgain', 'sourceBalancerLeftOff']);
  });

  it('a failover of the destination takes no time from the source', async () => {
    reading = failOver;
    waitsAreOver = true;
    await run(bothAsked);
    expect(fromOpening()).toEqual(opened.filter((step) => step !== 'warnings'));
    expect(record.warnings).toEqual([]);
  });

  it('a source that refuses causes a warning, too', async () => {
    answer = () => Promise.reject(serverError(13, 'Unauthorized'));
    await run(bothAsked);
    expect(record).toMatchObject({ phase: 'committed' });
    expect(record.warnings.map(({ description }) => description)).toEqual([
      expect.stringContaining('writeBlockingFailed'),
      expect.stringContaining('Unauthorized'),
    ]);
  });

  it('a later leader that finds the source back completes the rest and removes the warnings', async () => {
    const other = { name: 'oplogWindowShort', description: 'Short.' };
    const reported = ['sourceNotClosedAgain', 'sourceBalancerLeftOff'].map((name) => ({ name, description: '' }));
    await run({ ...bothAsked, phase: 'opening', warnings: [other, ...reported] });
    expect(log).toEqual(expect.arrayContaining(['source: setUserWriteBlockMode', 'source: balancerStart']));
    expect(record.warnings).toEqual([other]);
  });

  it('has no warning where nothing is asked of the source', async () => {
    reading = failOver;
    waitsAreOver = true;
    answer = () => Promise.reject(new MongoNetworkError('connection refused'));
    await run();
    expect(fromOpening()).toEqual(['opening', 'canWrite', 'phase']);
    expect(waits).toEqual([30_000]);
    expect(record.warnings).toEqual([]);
  });
});
