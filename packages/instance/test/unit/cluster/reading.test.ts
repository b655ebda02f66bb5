import { Binary, type Document, Int32, Long, MongoServerError, Timestamp } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { encodeValue } from '../../../src/bson/scan.js';
import {
  type ChangeStreamOptions,
  openChangeStream,
  tokenTime,
  tokenUuid,
} from '../../../src/cluster/change-stream.js';
import {
  appendNote,
  clusterTimeOf,
  currentTime,
  highestTime,
  operationTimeOf,
  operationTimes,
  secondsOf,
  timeAboveAll,
  timeOf,
  timestampOf,
  wakeStream,
} from '../../../src/cluster/cluster-time.js';
import { CollectionAbsentError } from '../../../src/cluster/failure.js';
import type { ClusterClient, NodeClient, Version } from '../../../src/cluster/node-client.js';
import { openSnapshotCursor } from '../../../src/cluster/range-read.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';

const signal = new AbortController().signal;
const at = new Timestamp({ t: 1_700_000_000, i: 7 });

/** A cluster whose shards are reached directly if any are given. */
function clusterOf(router: NodeClient, shards: Record<string, NodeClient> = {}): ClusterClient {
  const shardIds = Object.keys(shards);
  return fakeCluster({ router, shardIds, ...(shardIds.length > 0 && { shards: new Map(Object.entries(shards)) }) });
}

describe('cluster times', () => {
  test('are numbers in the order of time', () => {
    expect(timeOf(at)).toBe((1_700_000_000n << 32n) | 7n);
    expect(timestampOf(timeOf(at))).toEqual(at);
    const late = new Timestamp({ t: 0xfffffff0, i: 0xffffffff });
    expect(timestampOf(timeOf(late))).toEqual(late);
    expect(secondsOf(timeOf(late))).toBe(0xfffffff0);
    expect(highestTime([timeOf(at), timeOf(late), 1n])).toBe(timeOf(late));
    expect(highestTime([])).toBe(0n);
  });

  test('a time after everything that was written', async () => {
    const reply = { operationTime: at, $clusterTime: { clusterTime: new Timestamp({ t: 1_800_000_000, i: 1 }) } };
    expect(operationTimeOf(reply)).toBe(timeOf(at));
    expect(secondsOf(clusterTimeOf(reply))).toBe(1_800_000_000);
    expect(clusterTimeOf({ operationTime: at })).toBe(timeOf(at));
    expect(() => operationTimeOf({})).toThrow('unsupportedTopology');
    const client = new FakeNodeClient('node', () => reply);
    expect(secondsOf(await currentTime(client, { signal }))).toBe(1_800_000_000);
    expect(await appendNote(client, { signal })).toBe(timeOf(at));
    const times = await operationTimes(
      clusterOf(client, { s0: client, s1: new FakeNodeClient('node', () => ({ operationTime: timestampOf(5n) })) }),
      { signal },
    );
    expect([...times]).toEqual([
      ['s0', timeOf(at)],
      ['s1', 5n],
    ]);
  });
});

describe('with direct access is the highest of notes on all shards', () => {
  const reply = (operation: bigint, cluster = operation) => ({
    operationTime: timestampOf(operation),
    $clusterTime: { clusterTime: timestampOf(cluster) },
  });
  const sent = (client: FakeNodeClient): string[] => client.sent.map(({ command }) => Object.keys(command)[0] ?? '');

  test('with direct access is the highest of notes on all shards', async () => {
    const [router, s0, s1] = [
      new FakeNodeClient('node', () => reply(9n)),
      new FakeNodeClient('node', () => reply(5n)),
      new FakeNodeClient('node', () => reply(7n)),
    ];
    const cluster = clusterOf(router, { s0, s1 });
    expect(await timeAboveAll(cluster, { signal })).toBe(7n);
    await wakeStream(cluster, 's1', { signal });
    expect([router, s0, s1].map(sent)).toEqual([[], ['appendOplogNote'], ['appendOplogNote', 'appendOplogNote']]);
  });

  test('through an earlier router is the cluster time after all shards replied; reads advance idle ones', async () => {
    const router = new FakeNodeClient('node', () => reply(5n, 8n));
    const cluster = { ...clusterOf(router), version: [6, 0, 1] as const };
    expect(await timeAboveAll(cluster, { signal })).toBe(5n);
    await wakeStream(cluster, 's0', { signal });
    expect(sent(router)).toEqual(['appendOplogNote', 'appendOplogNote']);
  });

  test('of a user without the privilege for notes is the cluster time after a request to all shards (%s)', async () => {
    const router = new FakeNodeClient('node', () => reply(5n, 8n));
    const cluster = clusterOf(router);
    expect(await timeAboveAll(cluster, { signal })).toBe(8n);
    await wakeStream(cluster, 's0', { signal });
    expect(sent(router)).toEqual(['listDatabases', 'aggregate', 'ping', 'aggregate']);
    for (const { command } of router.sent.filter(({ command }) => 'aggregate' in command)) {
      expect(command).toMatchObject({
        aggregate: 1,
        pipeline: [{ $changeStream: { allChangesForCluster: true } }],
        readConcern: { level: 'majority', afterClusterTime: timestampOf(8n) },
      });
    }
    expect(router.closedCursors).toBe(2);
  });

  test.each(['direct', 'router'] as const)(
    'of a user who may not append notes is the cluster time after all shards were asked (%s)',
    async (access) => {
      const refused = new MongoServerError({ ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' });
      const answer = (command: Document): Document => {
        if ('appendOplogNote' in command) throw refused;
        return reply(5n, 8n);
      };
      const [router, s0] = [new FakeNodeClient('node', answer), new FakeNodeClient('node', answer)];
      const cluster = { ...clusterOf(router, { s0 }), access, version: [6, 0, 1] as const };
      expect(await timeAboveAll(cluster, { signal })).toBe(8n);
      await wakeStream(cluster, 's0', { signal });
      expect(sent(router).filter((name) => name !== 'appendOplogNote')).toEqual([
        'listDatabases',
        'aggregate',
        'ping',
        'aggregate',
      ]);
    },
  );

  test('is available even if idle shards cannot be advanced; a lost connection is thrown', async () => {
    const failing = (error: Error) =>
      Object.assign(new FakeNodeClient('node', () => reply(5n, 8n)), { openCursor: () => Promise.reject(error) });
    expect(
      await timeAboveAll(clusterOf(failing(new MongoServerError({ ok: 0, code: 72, errmsg: 'no' }))), { signal }),
    ).toBe(8n);
    await expect(timeAboveAll(clusterOf(failing(new Error('lost'))), { signal })).rejects.toThrow('lost');
  });
});

describe('resume tokens', () => {
  const token =
    '826B016128000000122B022C0100296E5A10042DFF5B069850408B9FA9223EB26F814A463C5F6964003C72736861726430000004';

  test('show their time and collection', () => {
    expect(tokenTime(token)).toBe(0x6b01612800000012n);
    expect(tokenUuid(token)).toBe('2dff5b069850408b9fa9223eb26f814a');
    expect(tokenTime('826B016125000000022B0229296E04')).toBe(0x6b01612500000002n);
    expect(tokenUuid('826B016125000000022B0229296E04')).toBeNull();
  });

  test('of another form are refused', () => {
    for (const wrong of ['', '82', '836B016125000000022B', 'nonsense', '82xx0161250000000'])
      expect(() => tokenTime(wrong)).toThrow(RangeError);
  });
});

describe('opening a change stream', () => {
  const options: ChangeStreamOptions = {
    startAtOperationTime: at,
    batchDocumentsMax: 1_000,
    signal,
    allChangesForCluster: true,
    version: [5, 0, 7],
  };
  const stageOf = (client: FakeNodeClient) => (client.sent[0]?.command['pipeline'] as unknown[])[0];

  test('of the whole cluster starts at a time, without a first batch', async () => {
    const client = new FakeNodeClient('node', () => ({}));
    await openChangeStream(client, { ...options, pipeline: [{ $match: { a: 1 } }] });
    expect(client.sent[0]).toMatchObject({
      database: 'admin',
      options: { batchDocumentsMax: 1_000 },
      command: { aggregate: 1, cursor: { batchSize: 0 } },
    });
    expect(client.sent[0]?.command['pipeline']).toEqual([
      { $changeStream: { allChangesForCluster: true, startAtOperationTime: at } },
      { $match: { a: 1 } },
    ]);
  });

  test('asks for DDL from 6.0 on', async () => {
    const client = new FakeNodeClient('node', () => ({}));
    await openChangeStream(client, { ...options, version: [6, 0, 0] });
    expect(stageOf(client)).toEqual({
      $changeStream: { allChangesForCluster: true, startAtOperationTime: at, showExpandedEvents: true },
    });
  });

  test('asks for diffs of updates from 6.0 on, where the caller wants them', async () => {
    const asks = async (version: Version, rawUpdateDescriptions: boolean): Promise<boolean> => {
      const client = new FakeNodeClient('node', () => ({}));
      await openChangeStream(client, { ...options, version, rawUpdateDescriptions });
      return 'showRawUpdateDescription' in (stageOf(client) as { $changeStream: object }).$changeStream;
    };
    expect(await asks([5, 3, 0], true)).toBe(false);
    expect(await asks([6, 0, 0], true)).toBe(true);
    expect(await asks([8, 0, 10], true)).toBe(true);
    expect(await asks([8, 0, 10], false)).toBe(false);
  });

  test('splits large events where the server can and the caller wants it', async () => {
    for (const [version, stages] of [
      [[6, 0, 0], 1],
      [[7, 0, 0], 2],
    ] as const) {
      const client = new FakeNodeClient('node', () => ({}));
      await openChangeStream(client, { ...options, version, splitLargeEvents: true });
      expect(client.sent[0]?.command['pipeline']).toHaveLength(stages);
    }
  });

  test('of one collection', async () => {
    const client = new FakeNodeClient('node', () => ({}));
    await openChangeStream(client, { ...options, allChangesForCluster: false, database: 'db', collection: 'c' });
    expect(client.sent[0]).toMatchObject({ database: 'db', command: { aggregate: 'c' } });
    expect(stageOf(client)).toEqual({ $changeStream: { startAtOperationTime: at } });
  });
});

describe('a snapshot read', () => {
  test('has index bounds, one time and the order of _id', async () => {
    const client = new FakeNodeClient('shard', () => ({ cursor: { atClusterTime: at } }));
    const min = encodeValue(Long.fromNumber(5));
    await openSnapshotCursor(client, {
      database: 'db',
      target: { find: new Binary(Buffer.alloc(16, 1), Binary.SUBTYPE_UUID) },
      min,
      max: encodeValue({ b: 1, a: 2 }),
      at,
      batchSize: 100,
      signal,
      maxTime_ms: 5,
    });
    expect(client.sent[0]).toMatchObject({ database: 'db', options: { signal, maxTime_ms: 5 } });
    expect(client.sent[0]?.given).toEqual({
      find: new Binary(Buffer.alloc(16, 1), 4),
      hint: { _id: 1 },
      sort: { _id: 1 },
      min: { _id: Long.fromNumber(5) },
      max: {
        _id: new Map([
          ['b', new Int32(1)],
          ['a', new Int32(2)],
        ]),
      },
      batchSize: 100,
      readConcern: { level: 'snapshot', atClusterTime: at },
    });
  });

  test('of a collection that was not there then is no read', async () => {
    const client = new FakeNodeClient('node', () => ({}));
    await expect(
      openSnapshotCursor(client, { database: 'db', target: { find: 'c' }, at, batchSize: 1, signal }),
    ).rejects.toThrow(CollectionAbsentError);
    expect(client.closedCursors).toBe(1);
  });

  test('nor of one that has gone since', async () => {
    const client = new FakeNodeClient('node', () => ({}));
    client.openCursor = () =>
      Promise.reject(new MongoServerError({ ok: 0, code: 26, codeName: 'NamespaceNotFound', errmsg: 'gone' }));
    await expect(
      openSnapshotCursor(client, {
        database: 'db',
        target: { find: new Binary(Buffer.alloc(16, 1), Binary.SUBTYPE_UUID) },
        at,
        batchSize: 1,
        signal,
      }),
    ).rejects.toThrow(CollectionAbsentError);
  });
});
