import { type Progress, progressSchema } from '@convoy/api/contract/progress';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { readHotDocuments } from '../../../src/lifecycle/task/task-stats.js';
import { Fixture } from './fixture.js';
import { canGoBack } from './releases.js';
import type { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const documentBytes = 1000;
const documents = 400;
/** The copy of all documents takes a few seconds. */
const slow = { loadRateBytesPerSecond: 100_000 };
const shards = ['shard0', 'shard1'];

/**
 * A sharded collection, spread over both shards by a hashed key, and an unsharded one. With a slow rate, the shard that
 * has both copies longest: for seconds one part is copied and another is not, whichever comes first.
 */
async function load(): Promise<void> {
  const { client } = fixture.cluster0;
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  const text = 'x'.repeat(documentBytes);
  await client
    .db('shop')
    .collection('orders')
    .insertMany(Array.from({ length: documents }, (_, n) => ({ n, text })));
  await client
    .db('shop')
    .collection('plain')
    .insertMany(Array.from({ length: documents }, (_, n) => ({ n, text })));
}

function expectWithinTotal({ collectionCopy }: Progress): void {
  const { estimatedTotalBytes = 0, estimatedCopiedBytes = -1 } = collectionCopy ?? {};
  expect(estimatedCopiedBytes).toBeGreaterThanOrEqual(0);
  expect(estimatedCopiedBytes).toBeLessThanOrEqual(estimatedTotalBytes);
}

describe('progress in IDLE', () => {
  it('is null in every field but state and canCommit', async () => {
    await using instance = await fixture.startInstance();
    const { status, body } = await instance.progressReply();
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['progress', 'success']);
    const { state, canCommit, ...others } = body.progress as Record<string, unknown>;
    expect({ state, canCommit }).toEqual({ state: 'IDLE', canCommit: false });
    expect(Object.keys({ state, canCommit, ...others }).sort()).toEqual(Object.keys(progressSchema.shape).sort());
    expect([...new Set(Object.values(others))]).toEqual([null]);
  });
});

describe('progress before the clusters are reached', () => {
  it('reports that it initialises, and accepts no command', async () => {
    await using instance = await fixture.launchInstance({
      cluster1: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500',
    });
    expect(await instance.progress()).toMatchObject({ state: 'INITIALIZING', info: 'initializing', canCommit: false });
    const start = await instance.command('start', startBody());
    expect([start.status, start.body.error]).toEqual([409, 'notInThisState']);
  });
});

describe('progress before the copy', () => {
  it('is 0 of 1 bytes with no lag and no permission to write', async () => {
    await load();
    await using instance = await fixture.startInstance({ id: 'shard0' });
    await instance.accepted('start', startBody());
    const progress = await instance.until(
      'it waits for its peer',
      ({ warnings }) => warnings?.some(({ name }) => name === 'waitingForInstances') === true,
    );
    expect(progressSchema.parse(progress)).toEqual(progress);
    const notStarted = {
      phase: 'not started',
      hashedDocumentCount: 0,
      estimatedDocumentCount: 0,
      scannedCollectionCount: 0,
      totalCollectionCount: 0,
      lagTimeSeconds: 0,
    };
    expect(progress).toMatchObject({
      state: 'RUNNING',
      info: 'initializing',
      canCommit: false,
      canWrite: false,
      lagTimeSeconds: null,
      collectionCopy: { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 },
      verification: { source: notStarted, destination: notStarted },
    });
  });
});

describe('progress of a copy, the change events and the commit', () => {
  it('follows the contract from 0 of 1 to COMMITTED, over pauses and restarts', async () => {
    await load();
    const first = await fixture.startInstance(slow);
    const seen: Progress[] = [];
    try {
      await first.accepted('start', startBody());
      seen.push(await first.progress());
      const copying = await first.until('a part is copied', (progress) => {
        seen.push(progress);
        return progress.info === 'collection copy' && (progress.collectionCopy?.estimatedCopiedBytes ?? 0) > 0;
      });
      expect(progressSchema.parse(copying)).toEqual(copying);
      expect(copying).toMatchObject({
        state: 'RUNNING',
        canCommit: false,
        canWrite: false,
        coordinatorID: copying.syncID,
      });
      const { estimatedTotalBytes = 0 } = copying.collectionCopy ?? {};
      expect(estimatedTotalBytes).toBeGreaterThan(documents * documentBytes);

      await first.accepted('pause');
      const paused = await first.progress();
      expect(paused).toMatchObject({
        state: 'PAUSED',
        info: 'paused',
        lagTimeSeconds: null,
        canCommit: false,
        syncID: copying.syncID,
      });
      expectWithinTotal(paused);
      await first.close();

      await using second = await fixture.launchInstance();
      expect(['INITIALIZING', 'PAUSED']).toContain((await second.progress()).state);
      await second.untilReady();
      const restarted = await second.progress();
      expect(restarted).toMatchObject({
        state: 'PAUSED',
        info: 'paused',
        lagTimeSeconds: null,
        syncID: copying.syncID,
        coordinatorID: copying.syncID,
      });
      expect(restarted.collectionCopy).toEqual(paused.collectionCopy);
      await followToTheEnd(second, seen);
    } finally {
      await first.close();
    }
    for (const progress of seen) expectWithinTotal(progress);
    expect(new Set(seen.map(({ syncID }) => syncID)).size).toBe(1);
  });
});

/** Resumes, writes on the source, commits; it records every progress document. */
async function followToTheEnd(instance: ServedInstance, seen: Progress[]): Promise<void> {
  await instance.accepted('resume');
  await instance.until('it can be committed', (progress) => {
    seen.push(progress);
    return progress.canCommit;
  });
  const orders = fixture.cluster0.client.db('shop').collection('orders');
  await orders.insertMany(Array.from({ length: 20 }, (_, n) => ({ n: documents + n })));
  await orders.updateMany({ n: { $lt: 10 } }, { $set: { changed: true } });
  const applying = await instance.until(
    'the events are applied, the total is set, and it can be committed',
    ({ totalEventsApplied, collectionCopy, canCommit }) => {
      const isWhole = collectionCopy?.estimatedCopiedBytes === collectionCopy?.estimatedTotalBytes;
      return canCommit && isWhole && (totalEventsApplied ?? 0) >= 30;
    },
  );
  expect(progressSchema.parse(applying)).toEqual(applying);
  expect(applying).toMatchObject({
    state: 'RUNNING',
    info: 'change event application',
    canCommit: true,
    canWrite: false,
  });
  expect(applying.lagTimeSeconds).toBeLessThanOrEqual(30);
  expect(applying.collectionCopy?.estimatedCopiedBytes).toBeGreaterThan(documents * documentBytes);

  await instance.accepted('commit');
  const committed = await instance.untilState('COMMITTED');
  expect(committed).toMatchObject({
    info: 'commit completed',
    lagTimeSeconds: 0,
    canWrite: true,
    canCommit: false,
    syncID: applying.syncID,
  });
  expect(committed.collectionCopy?.estimatedCopiedBytes).toBe(committed.collectionCopy?.estimatedTotalBytes);
  expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(documents + 20);
  await instance.close();
  await using restarted = await fixture.startInstance();
  expect(await restarted.progress()).toMatchObject({
    state: 'COMMITTED',
    info: 'commit completed',
    lagTimeSeconds: 0,
    canWrite: true,
    canCommit: false,
    syncID: applying.syncID,
    collectionCopy: committed.collectionCopy,
  });
}

describe('lagTimeSeconds', () => {
  it('grows while events cannot be applied, and progress still answers', async () => {
    const orders = fixture.cluster0.client.db('shop').collection('orders');
    await orders.insertOne({ n: 0 });
    const failPoint = (mode: 'alwaysOn' | 'off') =>
      fixture.cluster1.client.db('admin').command({
        configureFailPoint: 'failCommand',
        mode,
        data: { failCommands: ['insert', 'update', 'delete'], errorCode: 91 },
      });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await failPoint('alwaysOn');
    try {
      await orders.insertOne({ n: 1 });
      const isTriedAgain = ({ warnings }: Progress): boolean =>
        warnings?.some(({ name }) => name === 'retrying') ?? false;
      const behind = await instance.until(
        'it is behind and tries again',
        (progress) => (progress.lagTimeSeconds ?? 0) >= 2 && isTriedAgain(progress),
      );
      expect(behind).toMatchObject({ state: 'RUNNING', info: 'change event application' });
    } finally {
      await failPoint('off');
    }
    await instance.until(
      'it has caught up',
      ({ lagTimeSeconds, totalEventsApplied }) => (lagTimeSeconds ?? 9) < 2 && totalEventsApplied === 1,
    );
    expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(2);
  });
});

describe('directionMapping', () => {
  const directions = [
    ['cluster0', 'cluster1'],
    ['cluster1', 'cluster0'],
  ] as const;
  it.each(canGoBack ? directions : directions.slice(0, 1))(
    'names cluster, host and port from %s to %s',
    async (source, destination) => {
      await fixture[source].client.db('shop').collection('orders').insertOne({ n: 1 });
      await using instance = await fixture.startInstance();
      await instance.migrate(startBody({ source, destination }));
      const { directionMapping } = await instance.progress();
      const host = (name: typeof source): string => new URL(fixture[name].connectionString).host;
      expect(directionMapping).toEqual({
        Source: `${source}: ${host(source)}`,
        Destination: `${destination}: ${host(destination)}`,
      });
      expect(await fixture[destination].client.db('shop').collection('orders').countDocuments()).toBe(1);
      const texts = JSON.stringify(await instance.progressReply());
      expect(texts).not.toMatch(/mongodb:/);
      expect(shards.every((id) => !directionMapping?.Source.includes(id))).toBe(true);
    },
  );
});

describe('a failed migration', () => {
  it('answers progress with the failure shape from then on, on a restarted process too', async () => {
    const shop = fixture.cluster0.client.db('shop');
    await shop.collection('orders').createIndexes([{ key: { name: 1 }, unique: true }]);
    await shop.collection('orders').insertOne({ name: 'not to be shown' });
    {
      await using instance = await fixture.startInstance({ retry_minutes: 0.05 });
      // The verifier would find the document before the unique index does.
      await instance.accepted('start', startBody({ verification: { enabled: false } }));
      expect((await instance.untilCanCommit()).verification).toBeNull();
      await fixture.cluster1.client.db('shop').collection('orders').insertOne({ name: 'not to be shown' });
      await instance.accepted('commit');
      await expect.poll(async () => (await instance.progressReply()).status).toBe(409);
      await expectFailed(instance);
    }
    await using restarted = await fixture.startInstance();
    await expectFailed(restarted);
    expect(await shop.collection('orders').countDocuments()).toBe(1);
  });
});

async function expectFailed(instance: ServedInstance): Promise<void> {
  const description = expect.stringMatching(/name_1.*shop\.orders|shop\.orders.*name_1/) as unknown;
  const { status, body } = await instance.progressReply();
  expect({ status, body }).toEqual({
    status: 409,
    body: { success: false, error: 'uniqueIndexViolated', errorDescription: description },
  });
  expect(body.errorDescription).not.toContain('not to be shown');
  for (const name of ['start', 'pause', 'resume', 'commit', 'reverse'] as const) {
    const reply = await instance.command(name, name === 'start' ? startBody() : {});
    expect([name, reply.status, reply.body.error]).toEqual([name, 409, 'migrationFailed']);
  }
}

describe('progress while users write', () => {
  it('counts their writes by namespace, without those to excluded collections, and has the options', async () => {
    const { client } = fixture.cluster0;
    await client.db('shop').collection('plain').insertOne({ n: 0 });
    await using instance = await fixture.startInstance();
    const excludeNamespaces = [{ database: 'logs' }];
    await instance.accepted('start', startBody({ excludeNamespaces }));
    const before = await instance.until('its stream shows the present', ({ sourceWrites }) => sourceWrites !== null);
    expect(before.options).toMatchObject({ source: 'cluster0', reversible: false, excludeNamespaces });
    expect(Date.parse(before.startedAt ?? '')).toBeGreaterThan(0);
    await client.db('logs').collection('lines').insertOne({ n: 1 });
    await client
      .db('shop')
      .collection('plain')
      .insertMany([{ n: 1 }, { n: 2 }]);
    await client
      .db('shop')
      .collection('plain')
      .updateOne({ n: 1 }, { $set: { m: 1 } });
    const { sourceWrites } = await instance.until(
      'it has read them',
      (progress) => (progress.sourceWrites?.namespaces[0]?.writes ?? 0) >= 3,
    );
    expect(sourceWrites?.namespaces.map(({ namespace }) => namespace)).toEqual(['shop.plain']);
    expect(sourceWrites?.lastWriteAt).toMatch(/^\d{4}-/);
  });

  it('names a counter that changes all the time by a hash; its _id is in the metadata alone', async () => {
    const { client } = fixture.cluster0;
    const counters = client.db('shop').collection<{ _id: string; n: number }>('counters');
    await counters.insertOne({ _id: 'jane@example.com', n: 0 });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.until('it applies changes', ({ info }) => info === 'change event application');
    const updateOne = { filter: { _id: 'jane@example.com' }, update: { $inc: { n: 1 } } };
    const count = () => counters.bulkWrite(Array.from({ length: 100 }, () => ({ updateOne })));
    let hotDocuments: Progress['hotDocuments'] = null;
    const named = async (): Promise<number | undefined> => {
      await count();
      ({ hotDocuments } = await instance.progress());
      return hotDocuments?.length;
    };
    await expect.poll(named).toBe(1);
    const config = { cluster0: fixture.cluster0.connectionString, cluster1: fixture.cluster1.connectionString };
    const { signal } = new AbortController();
    const stored = async (): Promise<unknown> => {
      await count();
      return readHotDocuments(parseInstanceConfig({ flags: config, env: {} }), 'cluster1', signal);
    };
    await expect.poll(stored).toMatchObject([{ _id: 'jane@example.com', namespace: 'shop.counters' }]);
    expect(hotDocuments).toMatchObject([{ namespace: 'shop.counters', workerPercent: 100, appliedBy: 'folding' }]);
    expect(JSON.stringify(hotDocuments)).not.toContain('jane');
    const wanted = await counters.findOne();
    const copies = fixture.cluster1.client.db('shop').collection<{ _id: string }>('counters');
    await expect.poll(() => copies.findOne()).toEqual(wanted);
  });
});
