import { afterAll, beforeAll, expect, it } from 'vitest';
import { Scene } from './scene.js';

/*
 * A client as somebody would write it who has only read the document of the interface: chapters 2.1, 2.4, 2.5 and 4,
 * and the names of the other commands. It uses nothing of this repository.
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
    for (let calls = 0; calls < 1000; calls += 1) {
      const progress = await this.progress();
      if (condition(progress)) return progress;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    throw new Error('gave up');
  }
}

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => scene.close());

it('start, progress and commit work for a client that was written from the document alone', async () => {
  await scene.cluster0.client.db('shop').collection('orders').insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await using instance = await scene.startInstance();
  const client = new DocumentClient(instance.url);

  const idle = await client.progress();
  expect(idle.state).toBe('IDLE');
  expect(idle.canCommit).toBe(false);
  expect(idle.info).toBeNull();
  expect(idle.collectionCopy).toBeNull();

  await expect(client.post('start', { source: 'cluster0' })).rejects.toThrow(/destination/);
  await client.post('start', { source: 'cluster0', destination: 'cluster1', verification: { enabled: false } });
  await expect(client.post('start', { source: 'cluster0', destination: 'cluster1', verification: { enabled: false } })).rejects.toThrow();

  const ready = await client.waitUntil((progress) => progress.canCommit && progress.collectionCopy?.estimatedCopiedBytes === progress.collectionCopy?.estimatedTotalBytes);
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
  expect(committed).toMatchObject({ canWrite: true, lagTimeSeconds: 0, info: 'commit completed', syncID: ready.syncID });
  expect(await scene.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(3);
});
