import { Timestamp, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { noteEachShard, timeAboveAll, timeOf, wakeStream, wakeStreams } from '../../../src/cluster/cluster-time.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const options = { signal: never };
let source: ClusterClient;

/** A shard whose lock is free, and one whose lock is taken. */
beforeEach(() => {
  const free = (): Document => ({ operationTime: new Timestamp({ t: 5, i: 1 }) });
  const taken = (): Document => {
    throw serverError(107, 'LockFailed');
  };
  const shards = new Map([
    ['free', new FakeNodeClient('free', { appendOplogNote: free })],
    ['taken', new FakeNodeClient('taken', { appendOplogNote: taken })],
  ]);
  source = fakeCluster({ router: new FakeNodeClient('router', {}), shardIds: ['free', 'taken'], shards });
});

describe('a shard whose global lock is taken', () => {
  it('is skipped by callers that only advance it', async () => {
    await wakeStream(source, 'taken', options);
    await wakeStreams(source, options);
    expect(await noteEachShard(source, options)).toEqual(new Map([['free', timeOf(new Timestamp({ t: 5, i: 1 }))]]));
  });

  it('has no time after all writes: the caller must retry', async () => {
    await expect(timeAboveAll(source, options)).rejects.toMatchObject({ code: 107 });
  });
});
