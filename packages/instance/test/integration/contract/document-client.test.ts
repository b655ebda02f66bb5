import { afterEach, expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import { blockingReleases } from './releases.js';

/*
 * A client as a user would write it who has only read the document of the interface: chapters 2.1, 2.4, 2.5 and 4, and
 * the names of the other commands. It uses nothing of this repository.
 */

interface ProgressDocument {
  state: string;
  canCommit: boolean;
  canWrite: boolean | null;
  info: string | null;
  lagTimeSeconds: number | null;
  totalEventsApplied: number | null;
  collectionCopy: { estimatedTotalBytes: number; estimatedCopiedBytes: number } | null;
  directionMapping: { Source: string; Destination: string } | null;
  syncID: string | null;
  coordinatorID: string | null;
  verification: { source: VerificationDocument; destination: VerificationDocument } | null;
}

interface VerificationDocument {
  estimatedDocumentCount: number;
  hashedDocumentCount: number;
  lagTimeSeconds: number;
  phase: string;
  scannedCollectionCount: number;
  totalCollectionCount: number;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isTruth = (value: unknown): boolean => typeof value === 'boolean';
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;

/** The fields of chapter 2.5, with what the document says about their values during a migration. */
const fields: Record<string, (value: unknown) => boolean> = {
  state: isText,
  canCommit: isTruth,
  canWrite: isTruth,
  info: isText,
  lagTimeSeconds: isCount,
  totalEventsApplied: isCount,
  'collectionCopy.estimatedTotalBytes': isCount,
  'collectionCopy.estimatedCopiedBytes': isCount,
  'directionMapping.Source': (value) => /^[^:]+: [^:]+:\d+$/.test(String(value)),
  'directionMapping.Destination': (value) => /^[^:]+: [^:]+:\d+$/.test(String(value)),
  syncID: isText,
  coordinatorID: isText,
};
for (const side of ['source', 'destination']) {
  for (const name of [
    'estimatedDocumentCount',
    'hashedDocumentCount',
    'lagTimeSeconds',
    'scannedCollectionCount',
    'totalCollectionCount',
  ])
    fields[`verification.${side}.${name}`] = isCount;
  fields[`verification.${side}.phase`] = isText;
}

/** Reads a field by its name in the document. */
function read(progress: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], progress);
}

/** Names of fields that differ from the document. */
function wrongFields(progress: object, { without = '' } = {}): string[] {
  return Object.entries(fields)
    .filter(([path, isRight]) => path.split('.')[0] !== without && !isRight(read(progress, path)))
    .map(([path]) => path);
}

class DocumentClient {
  constructor(private readonly baseUrl: string) {}

  /** Sends a command; a failure is thrown as `error: errorDescription`. */
  async post(path: string, payload: object): Promise<void> {
    const response = await fetch(`${this.baseUrl}/api/v1/${path}`, { method: 'POST', body: JSON.stringify(payload) });
    const reply = (await response.json()) as { success: boolean; error?: string; errorDescription?: string };
    if (!reply.success) throw new Error(`${reply.error ?? ''}: ${reply.errorDescription ?? ''}`);
    if ('error' in reply || 'errorDescription' in reply) throw new Error('a success with an error');
  }

  async progress(): Promise<ProgressDocument> {
    const response = await fetch(`${this.baseUrl}/api/v1/progress`);
    const reply = (await response.json()) as { success: boolean; progress: ProgressDocument; error?: string };
    if (!reply.success) throw new Error(reply.error);
    return reply.progress;
  }

  async waitUntil(condition: (progress: ProgressDocument) => boolean): Promise<ProgressDocument> {
    for (let calls = 0; calls < 3000; calls += 1) {
      const progress = await this.progress();
      if (condition(progress)) return progress;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    throw new Error('gave up');
  }
}

let fixture: Fixture;

afterEach(() => fixture.close());

it('start, progress and commit work for a client that was written from the document alone', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await using instance = await fixture.startInstance();
  const client = new DocumentClient(instance.url);

  const idle = await client.progress();
  expect(idle.state).toBe('IDLE');
  expect(idle.canCommit).toBe(false);
  expect(idle.info).toBeNull();
  expect(idle.collectionCopy).toBeNull();

  await expect(client.post('start', { source: 'cluster0' })).rejects.toThrow(/destination/);
  await client.post('start', { source: 'cluster0', destination: 'cluster1' });
  await expect(client.post('start', { source: 'cluster0', destination: 'cluster1' })).rejects.toThrow();

  const ready = await client.waitUntil(
    (progress) =>
      progress.canCommit &&
      progress.collectionCopy?.estimatedCopiedBytes === progress.collectionCopy?.estimatedTotalBytes,
  );
  expect(ready.state).toBe('RUNNING');
  expect(ready.canWrite).toBe(false);
  expect(ready.info).toBe('change event application');
  expect(Number.isInteger(ready.lagTimeSeconds)).toBe(true);
  expect(Number.isInteger(ready.totalEventsApplied)).toBe(true);
  const { estimatedCopiedBytes = 0, estimatedTotalBytes = 1 } = ready.collectionCopy ?? {};
  expect((estimatedCopiedBytes / estimatedTotalBytes) * 100).toBe(100);
  expect(ready.directionMapping?.Source).toMatch(/^cluster0: [^:]+:\d+$/);
  expect(ready.directionMapping?.Destination).toMatch(/^cluster1: [^:]+:\d+$/);
  expect(ready.syncID).toBeTruthy();
  expect(ready.coordinatorID).toBe(ready.syncID);

  await client.post('commit', {});
  const committed = await client.waitUntil((progress) => progress.state === 'COMMITTED');
  expect(committed).toMatchObject({
    canWrite: true,
    lagTimeSeconds: 0,
    info: 'commit completed',
    syncID: ready.syncID,
  });
  expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(3);
});

it('goes through every transition and reads every field', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, blockingReleases);
  await fixture.cluster0.shopper
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await using instance = await fixture.startInstance();
  const client = new DocumentClient(instance.url);
  const idle = await client.progress();
  expect(
    Object.entries(idle)
      .filter(([, value]) => value !== null)
      .map(([name]) => name)
      .sort(),
  ).toEqual(['canCommit', 'state']);

  await client.post('start', {
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    reversible: true,
  });
  const ready = await client.waitUntil(({ canCommit }) => canCommit);
  expect(wrongFields(ready)).toEqual([]);
  await client.post('pause', {});
  const paused = await client.waitUntil(({ state }) => state === 'PAUSED');
  expect(paused).toMatchObject({ lagTimeSeconds: null, canCommit: false, canWrite: false });
  expect(wrongFields(paused, { without: 'lagTimeSeconds' })).toEqual([]);
  await client.post('resume', {});
  await client.waitUntil(({ state, canCommit }) => state === 'RUNNING' && canCommit);

  await client.post('commit', {});
  const committed = await client.waitUntil(({ state }) => state === 'COMMITTED');
  expect(committed).toMatchObject({ canWrite: true, lagTimeSeconds: 0, info: 'commit completed' });
  expect(wrongFields(committed)).toEqual([]);
  await fixture.cluster1.shopper.db('shop').collection('orders').insertOne({ n: 4 });
  await client.post('reverse', {});
  const back = await client.waitUntil(({ state, canCommit }) => state === 'RUNNING' && canCommit);
  expect(back).toMatchObject({
    canWrite: false,
    verification: null,
    directionMapping: { Source: ready.directionMapping?.Destination, Destination: ready.directionMapping?.Source },
  });
  expect(wrongFields(back, { without: 'verification' })).toEqual([]);
  await client.post('commit', {});
  expect(await client.waitUntil(({ state }) => state === 'COMMITTED')).toMatchObject({
    canWrite: true,
    syncID: ready.syncID,
  });
  expect(await fixture.cluster0.shopper.db('shop').collection('orders').countDocuments()).toBe(4);
  await client.post('reverse', {});
  await client.waitUntil(({ state, canCommit }) => state === 'RUNNING' && canCommit);
});
