import { Binary, type Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { encodeValue } from '../../../src/bson/scan.js';
import { openChangeStream, tokenTime, tokenUuid } from '../../../src/cluster/change-stream.js';
import {
  appendNote,
  currentTime,
  timeAboveAll,
  timeOf,
  timestampOf,
  wakeStream,
} from '../../../src/cluster/cluster-time.js';
import type { RawCursor } from '../../../src/cluster/node-client.js';
import { listCollections } from '../../../src/catalog/list-namespaces.js';
import { classify, CollectionAbsentError, mayReadLater } from '../../../src/cluster/failure.js';
import { openSnapshotCursor } from '../../../src/cluster/range-read.js';
import { SplitCluster } from './split-cluster.js';
import { decoded, failureOf, readAll, timeAfterWrites } from './what-is-read.js';

/** Reads until the cursor's token has reached a time. */
async function readUpTo(cursor: RawCursor, time: bigint, signal: AbortSignal): Promise<Document[]> {
  const events: Document[] = [];
  for (;;) {
    const batch = await cursor.next({ signal, maxTime_ms: 200 });
    events.push(...decoded(batch));
    if (batch.resumeToken !== undefined && tokenTime(batch.resumeToken) > time) return events;
  }
}

/** A cursor at a time on a shard with four documents, which has two of them left to return. */
async function halfRead(servers: SplitCluster) {
  const { cluster, signal } = servers;
  const shard = cluster.shard('shard0');
  await servers.insert(...[1, 2, 3, 4].map((_id) => ({ _id, sk: -1 })));
  const at = timestampOf(await timeAfterWrites(servers));
  const target = { find: 'coll' };
  const cursor = await openSnapshotCursor(shard, { database: 'db', target, at, batchSize: 2, signal });
  return { shard, at, cursor };
}

describe('a snapshot read', () => {
  test('shows a range at one time, over all its batches, whatever is written in the meantime', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    await servers.insert(...Array.from({ length: 20 }, (_, index) => ({ _id: index, sk: index - 10, v: 0 })));
    const at = timestampOf(await timeAfterWrites(servers));
    const range = {
      database: 'db',
      target: { find: 'coll' },
      min: encodeValue(4),
      max: encodeValue(16),
      at,
      batchSize: 2,
      signal,
    };
    for (const client of [cluster.router, cluster.shard('shard1')]) {
      const cursor = await openSnapshotCursor(client, range);
      expect(cursor.first.atClusterTime).toEqual(at);
      await cluster.router.command(
        'db',
        { update: 'coll', updates: [{ q: { sk: { $gte: 0 } }, u: { $inc: { v: 1 } }, multi: true }] },
        { signal },
      );
      const documents = await readAll(cursor, signal);
      const from = client === cluster.router ? 4 : 10;
      expect(documents).toEqual(
        Array.from({ length: 16 - from }, (_, index) => ({ _id: from + index, sk: from + index - 10, v: 0 })),
      );
    }
  });

  test("uses the collection's UUID on a shard", async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    await servers.insert({ _id: 'a', sk: -1 });
    const listing = await cluster
      .shard('shard0')
      .command('db', { listCollections: 1, filter: { name: 'coll' } }, { signal });
    const [entry] = (listing['cursor'] as { firstBatch: { info: { uuid: Binary } }[] }).firstBatch;
    const at = timestampOf(await timeAfterWrites(servers));
    const find = new Binary(entry?.info.uuid.buffer ?? Buffer.alloc(16), Binary.SUBTYPE_UUID);
    const cursor = await openSnapshotCursor(cluster.shard('shard0'), {
      database: 'db',
      target: { find },
      at,
      batchSize: 10,
      signal,
    });
    expect(await readAll(cursor, signal)).toEqual([{ _id: 'a', sk: -1 }]);
  });

  test('of a collection that did not exist then fails with its own error', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const at = timestampOf(await timeAfterWrites(servers));
    const error = await failureOf(
      openSnapshotCursor(cluster.shard('shard0'), {
        database: 'db',
        target: { find: 'later' },
        at,
        batchSize: 10,
        signal,
      }),
    );
    expect(error).toBeInstanceOf(CollectionAbsentError);
  });

  test.each(['5.0', '8.0'] as const)(
    'of a dropped collection ends with a catalog change, or goes on: %s',
    async (release) => {
      await using servers = await SplitCluster.start({ direct: true, release });
      const { cluster, signal } = servers;
      const { shard, at, cursor } = await halfRead(servers);
      const [entry] = (await listCollections(shard, 'db', signal)).filter(({ name }) => name === 'coll');
      await cluster.router.command('db', { drop: 'coll' }, { signal });
      if (release === '5.0') expect(classify(await failureOf(cursor.next({ signal })))).toBe('catalogChanged');
      else expect(await readAll(cursor, signal)).toEqual([1, 2, 3, 4].map((_id) => ({ _id, sk: -1 })));
      await cursor.close();
      // A lost cursor is opened again by UUID, which is found or not: a server with users looks it up in the present.
      const find = new Binary(Buffer.from(entry?.uuid ?? '', 'hex'), Binary.SUBTYPE_UUID);
      const again = openSnapshotCursor(shard, { database: 'db', target: { find }, at, batchSize: 9, signal });
      const failure = await failureOf(again);
      if (failure === null) expect(await readAll(await again, signal)).toHaveLength(4);
      else expect(classify(failure)).toBe('catalogChanged');
      expect(release === '5.0' && failure === null).toBe(false);
    },
  );

  test('of a dropped collection without a time ends with a catalog change', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const shard = cluster.shard('shard0');
    await servers.insert(...[1, 2, 3, 4].map((_id) => ({ _id, sk: -1 })));
    const command = { find: 'coll', batchSize: 2, readConcern: { level: 'majority' } };
    const cursor = await shard.openCursor('db', command, { signal });
    await cluster.router.command('db', { drop: 'coll' }, { signal });
    expect(classify(await failureOf(cursor.next({ signal })))).toBe('catalogChanged');
    await cursor.close();
  });

  test.each(['5.0', '8.0'] as const)('of the far past is refused: %s', async (release) => {
    await using servers = await SplitCluster.start({ direct: true, release });
    const { cluster, signal } = servers;
    await servers.insert({ _id: 1, sk: 1 });
    await cluster.router.command('db', { insert: 'unsharded', documents: [{ _id: 1 }] }, { signal });
    const past = timestampOf((await currentTime(cluster.router, { signal })) - (4_000n << 32n));
    for (const client of [cluster.router, cluster.shard('shard1')]) {
      for (const find of ['coll', 'unsharded']) {
        const target = { find };
        const error = await failureOf(
          openSnapshotCursor(client, { database: 'db', target, at: past, batchSize: 2, signal }),
        );
        const isAbsent = find === 'unsharded' && client !== cluster.router;
        expect([find, classify(error)]).toEqual([find, isAbsent ? classify(error) : 'snapshotTooOld']);
        expect(mayReadLater(error)).toBe(true);
      }
    }
  });

  test('before the last change of its database is refused, and may be tried at a later time', async () => {
    await using servers = await SplitCluster.start({ direct: true, release: '8.0' });
    const { cluster, signal } = servers;
    const read = { database: 'later', target: { find: 'coll' }, batchSize: 2, signal };
    const before = timestampOf(await currentTime(cluster.router, { signal }));
    const made = { insert: 'coll', documents: [{ _id: 1 }], writeConcern: { w: 'majority' } };
    await cluster.router.command('later', made, { signal });
    const since = timestampOf(await timeAfterWrites(servers));
    const error = await failureOf(openSnapshotCursor(cluster.router, { ...read, at: before }));
    expect([classify(error), mayReadLater(error)]).toEqual(['snapshotTooOld', true]);
    expect(await readAll(await openSnapshotCursor(cluster.router, { ...read, at: since }), signal)).toEqual([
      { _id: 1 },
    ]);
  });

  test('reports a cursor that the server has lost', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { signal } = servers;
    const { shard, cursor } = await halfRead(servers);
    await shard.command(
      'admin',
      { configureFailPoint: 'failCommand', mode: { times: 1 }, data: { failCommands: ['getMore'], errorCode: 43 } },
      { signal },
    );
    expect(classify(await failureOf(cursor.next({ signal })))).toBe('cursorLost');
    await cursor.close();
  });
});

describe('a change stream', () => {
  test('of a shard and of the router shows every event from its start on, as bytes', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const startAtOperationTime = timestampOf((await timeAfterWrites(servers)) + 1n);
    await servers.insert({ _id: 1, sk: -1 }, { _id: 2, sk: 1 });
    const end = await timeAfterWrites(servers);
    await Promise.all(cluster.shardIds.map((id) => appendNote(cluster.shard(id), { signal })));
    const clients = [
      [cluster.router, [1, 2]],
      [cluster.shard('shard0'), [1]],
      [cluster.shard('shard1'), [2]],
    ] as const;
    for (const [client, ids] of clients) {
      const options = {
        startAtOperationTime,
        batchDocumentsMax: 1,
        signal,
        allChangesForCluster: true,
        version: cluster.version,
      };
      const cursor = await openChangeStream(client, options);
      expect(cursor.first.documents).toEqual([]);
      const events = (await readUpTo(cursor, end, signal)).filter((event) => event['operationType'] === 'insert');
      expect(events.map((event) => (event['fullDocument'] as Document)['_id'] as number).sort()).toEqual(ids);
      for (const event of events) {
        const { _data: data } = event['_id'] as { _data: string };
        expect(tokenTime(data)).toBe(timeOf(event['clusterTime'] as Parameters<typeof timeOf>[0]));
        expect(tokenUuid(data)).toMatch(/^[0-9a-f]{32}$/);
      }
      await cursor.close();
    }
  });

  test("of an idle shard advances with the server's own ticks", async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const startAtOperationTime = timestampOf(await timeAfterWrites(servers));
    const cursor = await openChangeStream(cluster.router, {
      startAtOperationTime,
      batchDocumentsMax: 10,
      signal,
      allChangesForCluster: true,
      version: cluster.version,
    });
    const later = (await timeAfterWrites(servers)) + 2n;
    await readUpTo(cursor, later, signal);
    await cursor.close();
  });

  test('of a router advances when woken, although a shard is idle and has not ticked for long', async () => {
    await using servers = await SplitCluster.start({ direct: false, tick_ms: 600_000 });
    const { cluster, signal } = servers;
    const begin = await timeAboveAll(cluster, { signal });
    const cursor = await openChangeStream(cluster.router, {
      startAtOperationTime: timestampOf(begin),
      batchDocumentsMax: 10,
      signal,
      allChangesForCluster: true,
      version: cluster.version,
    });
    await servers.insert({ _id: 1, sk: 1 });
    const written = await currentTime(cluster.router, { signal });
    await servers.insert({ _id: 2, sk: 2 });
    await wakeStream(cluster, 'shard0', { signal });
    const events = await readUpTo(cursor, written, signal);
    expect(events.map((event) => (event['fullDocument'] as Document)['_id'] as number)[0]).toBe(1);
    await cursor.close();
  });

  test('of a router is below a time after everything written, however often it is asked for', async () => {
    await using servers = await SplitCluster.start({ direct: false, tick_ms: 600_000 });
    const { cluster, signal } = servers;
    const begin = await timeAboveAll(cluster, { signal });
    const cursor = await openChangeStream(cluster.router, {
      startAtOperationTime: timestampOf(begin),
      batchDocumentsMax: 10,
      signal,
      allChangesForCluster: true,
      version: cluster.version,
    });
    await servers.insert({ _id: 1, sk: 1 }, { _id: 2, sk: -1 });
    const commit = await timeAboveAll(cluster, { signal });
    const reading = readUpTo(cursor, commit, signal);
    const passed = reading.then(() => true);
    while (!(await Promise.race([passed, timeAboveAll(cluster, { signal }).then(() => false)])))
      signal.throwIfAborted();
    expect((await reading).map((event) => (event['fullDocument'] as Document)['_id'] as number).sort()).toEqual([1, 2]);
    await cursor.close();
  });

  test('ends at once when it is aborted while it waits', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const startAtOperationTime = timestampOf(await timeAfterWrites(servers));
    const cursor = await openChangeStream(cluster.shard('shard0'), {
      startAtOperationTime,
      batchDocumentsMax: 10,
      signal,
      allChangesForCluster: true,
      version: cluster.version,
    });
    const controller = new AbortController();
    const waiting = failureOf(
      (async () => {
        for (;;) await cursor.next({ signal: controller.signal, maxTime_ms: 20_000 });
      })(),
    );
    controller.abort(new Error('enough'));
    expect(await waiting).toEqual(new Error('enough'));
    await cursor.close();
  });
});
