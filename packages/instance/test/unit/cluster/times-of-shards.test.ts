import type { Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timeBetweenWrites, timestampOf } from '../../../src/cluster/cluster-time.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const options = { signal: never };
/** The latest time that each shard, and the router, has issued or learnt. */
let clocks: { early: bigint; late: bigint; router: bigint };
let pauses: number;
let mayAppend: boolean;

const replyAt = (time: bigint): Document => ({
  operationTime: timestampOf(time),
  $clusterTime: { clusterTime: timestampOf(time) },
});

/** A write or a note on a shard: later than all that the shard knows, but not than what others know. */
function writeOn(shard: 'early' | 'late'): bigint {
  clocks[shard] += 1n;
  return clocks[shard];
}

function noteOn(shard: 'early' | 'late'): Document {
  if (!mayAppend) throw serverError(13, 'Unauthorized');
  return replyAt(writeOn(shard));
}

/** A request to all shards carries what the router knows, and their replies carry what they know. */
function askAll(): Document {
  for (const shard of ['early', 'late'] as const) if (clocks[shard] < clocks.router) clocks[shard] = clocks.router;
  for (const shard of ['early', 'late'] as const) if (clocks.router < clocks[shard]) clocks.router = clocks[shard];
  return replyAt(clocks.router);
}

function cluster(): ClusterClient {
  const shards = new Map(
    (['early', 'late'] as const).map((id) => [id, new FakeNodeClient(id, { appendOplogNote: () => noteOn(id) })]),
  );
  const aggregate = (): Document => ({ cursor: { id: 0n, ns: 'admin.$cmd.aggregate', firstBatch: [] }, ...askAll() });
  const router = new FakeNodeClient('router', { listDatabases: askAll, aggregate, ping: () => replyAt(clocks.router) });
  return fakeCluster({ router, shardIds: ['early', 'late'], shards });
}

const pause = (): Promise<void> => {
  pauses += 1;
  return Promise.resolve();
};

beforeEach(() => {
  clocks = { early: 100n, late: 5_000n, router: 50n };
  [pauses, mayAppend] = [0, true];
});

describe('a time between the writes so far and later ones', () => {
  it('is below the next write of every shard, although the clock of one is behind', async () => {
    const before = [clocks.early, clocks.late];
    const time = await timeBetweenWrites(cluster(), pause, options);
    expect(before.every((one) => one < time)).toBe(true);
    expect([writeOn('early') > time, writeOn('late') > time, pauses]).toEqual([true, true, 0]);
  });

  it('also where Convoy may append no notes', async () => {
    mayAppend = false;
    const time = await timeBetweenWrites(cluster(), pause, options);
    expect([writeOn('early') > time, writeOn('late') > time]).toEqual([true, true]);
  });

  it('is returned only once every shard has a later note', async () => {
    const fleet = cluster();
    let deaf = 2;
    const deafly = (database: string, command: Document, each: typeof options): Promise<Document> => {
      if ('listDatabases' in command && (deaf -= 1) >= 0) return Promise.resolve(replyAt(clocks.router));
      return fleet.router.command(database, command, each);
    };
    const openCursor = (database: string, command: Document, each: typeof options) =>
      deaf > 0 ? Promise.reject(serverError(72, 'InvalidOptions')) : fleet.router.openCursor(database, command, each);
    const router = Object.assign(Object.create(fleet.router) as typeof fleet.router, { command: deafly, openCursor });
    const time = await timeBetweenWrites({ ...fleet, router }, pause, options);
    expect([writeOn('early') > time, pauses > 0]).toEqual([true, true]);
  });
});
