import type { Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timeBetweenWrites, timestampOf } from '../../../src/cluster/cluster-time.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const shardIds = ['early', 'late'] as const;
/** The latest time that each shard, and the router, has issued or learnt. */
let clocks: Record<'early' | 'late' | 'router', bigint>;
let mayAppend: boolean;

/** A write or a note on a shard: later than all that the shard knows, but not than what others know. */
function writeOn(shard: 'early' | 'late'): bigint {
  clocks[shard] += 1n;
  return clocks[shard];
}

/** A request to all shards carries what the router knows, and their replies carry what they know. */
function askAll(isNote = false): Document {
  for (const shard of shardIds) if (clocks[shard] < clocks.router) clocks[shard] = clocks.router;
  const times = shardIds.map((shard) => (isNote ? writeOn(shard) : clocks[shard]));
  for (const time of times) if (clocks.router < time) clocks.router = time;
  const latest = timestampOf(clocks.router);
  return { operationTime: latest, $clusterTime: { clusterTime: latest } };
}

function cluster(): ClusterClient {
  const appendOplogNote = (): Document => {
    if (!mayAppend) throw serverError(13, 'Unauthorized');
    return askAll(true);
  };
  const aggregate = (): Document => ({ ...askAll(), cursor: { id: 0n, ns: 'admin.$cmd.aggregate', firstBatch: [] } });
  const router = new FakeNodeClient('router', { appendOplogNote, aggregate, listDatabases: () => askAll() });
  return fakeCluster({ router, shardIds: [...shardIds], version: [6, 0, 0] });
}

beforeEach(() => {
  clocks = { early: 100n, late: 5_000n, router: 50n };
  mayAppend = true;
});

describe('a time between the writes so far and later ones', () => {
  it('is below the next write of every shard, although the clock of one is behind', async () => {
    const time = await timeBetweenWrites(cluster(), { signal: never });
    expect(time > 5_000n).toBe(true);
    expect(shardIds.map((shard) => writeOn(shard) > time)).toEqual([true, true]);
  });

  it('also where Convoy may append no notes', async () => {
    mayAppend = false;
    const time = await timeBetweenWrites(cluster(), { signal: never });
    expect(time >= 5_000n).toBe(true);
    expect(shardIds.map((shard) => writeOn(shard) > time)).toEqual([true, true]);
  });
});
