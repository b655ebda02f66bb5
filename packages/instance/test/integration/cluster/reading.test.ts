import { BSON, Binary, type Document, MaxKey } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { encodeValue } from '../../../src/bson/scan.js';
import { openChangeStream, tokenTime, tokenUuid } from '../../../src/cluster/change-stream.js';
import {
  appendNote,
  currentTime,
  highestTime,
  operationTimes,
  timeAboveAll,
  timeOf,
  timestampOf,
  wakeStream,
} from '../../../src/cluster/cluster-time.js';
import type { RawBatch, RawCursor } from '../../../src/cluster/node-client.js';
import { classify, CollectionAbsentError } from '../../../src/cluster/failure.js';
import { openSnapshotCursor } from '../../../src/cluster/snapshot-read.js';
import { SplitCluster } from './split-cluster.js';

const decoded = (batch: RawBatch): Document[] => batch.documents.map((bytes) => BSON.deserialize(bytes));

/** Reads until the cursor's token has reached a time. */
async function readUpTo(cursor: RawCursor, time: bigint, signal: AbortSignal): Promise<Document[]> {
  const events: Document[] = [];
  for (;;) {
    const batch = await cursor.next({ signal, maxTime_ms: 200 });
    events.push(...decoded(batch));
    if (batch.resumeToken !== undefined && tokenTime(batch.resumeToken) > time) return events;
  }
}

/** A time at or after everything that was written. */
async function timeAfterWrites({ cluster, signal }: SplitCluster): Promise<bigint> {
  return highestTime((await operationTimes(cluster, { signal })).values());
}

async function readAll(cursor: RawCursor, signal: AbortSignal): Promise<Document[]> {
  const documents = decoded(cursor.first);
  while (cursor.open) documents.push(...decoded(await cursor.next({ signal })));
  return documents;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
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

  test('of a dropped collection ends with a catalog change', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const shard = cluster.shard('shard0');
    await servers.insert(...[1, 2, 3, 4].map((_id) => ({ _id, sk: -1 })));
    const at = timestampOf(await timeAfterWrites(servers));
    const cursor = await openSnapshotCursor(shard, {
      database: 'db',
      target: { find: 'coll' },
      at,
      batchSize: 2,
      signal,
    });
    await cluster.router.command('db', { drop: 'coll' }, { signal });
    expect(classify(await failureOf(cursor.next({ signal })))).toBe('catalogChanged');
    await cursor.close();
  });

  test('of the far past or the future is refused', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    await servers.insert({ _id: 1, sk: 1 });
    const past = timestampOf((await currentTime(cluster.router, { signal })) - (4_000n << 32n));
    for (const client of [cluster.router, cluster.shard('shard1')]) {
      const error = await failureOf(
        openSnapshotCursor(client, { database: 'db', target: { find: 'coll' }, at: past, batchSize: 2, signal }),
      );
      expect(classify(error)).toBe('snapshotTooOld');
    }
  });

  test('reports a cursor that the server has lost', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    const shard = cluster.shard('shard0');
    await servers.insert(...[1, 2, 3, 4].map((_id) => ({ _id, sk: -1 })));
    const at = timestampOf(await timeAfterWrites(servers));
    const cursor = await openSnapshotCursor(shard, {
      database: 'db',
      target: { find: 'coll' },
      at,
      batchSize: 2,
      signal,
    });
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

describe('an ordered read through a router', () => {
  /** Everything in the order of `_id`, reopened after the last document if a cursor is lost. */
  async function readInOrder(
    { cluster, signal }: SplitCluster,
    batchSize: number,
    after: bigint,
  ): Promise<{ documents: Document[]; lost: number }> {
    const documents: Document[] = [];
    for (let lost = 0; ; lost += 1) {
      const last = documents.pop()?.['_id'] as string | undefined;
      const range = { hint: { _id: 1 }, sort: { _id: 1 }, ...(last === undefined ? {} : { min: { _id: last } }) };
      const readConcern = { level: 'snapshot', atClusterTime: timestampOf(after) };
      const cursor = await cluster.router.openCursor(
        'db',
        { find: 'coll', ...range, batchSize, readConcern },
        { signal },
      );
      const failure = await (async () => {
        documents.push(...decoded(cursor.first));
        while (cursor.open) documents.push(...decoded(await cursor.next({ signal })));
      })().then(
        () => null,
        (error: unknown) => error,
      );
      await cursor.close();
      if (failure === null) return { documents, lost };
      expect(classify(failure)).toBe('cursorLost');
    }
  }

  test('brings every field, also those whose names begin with $', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const inserted = Array.from({ length: 6 }, (_, n) => ({
      _id: `id ${n}`,
      sk: n % 2 === 0 ? -1 : 1,
      $dollar: { n },
      'dotted.name': n,
      $last: n,
    }));
    await servers.insert(...inserted);
    expect(await readInOrder(servers, 2, await timeAfterWrites(servers))).toEqual({ documents: inserted, lost: 0 });
  });

  test.each([1, 2, 100])(
    'returns documents that are too large to be sorted together with their _id, in batches of %i',
    async (batchSize) => {
      await using servers = await SplitCluster.start({ direct: true });
      const key_bytes = 100_000;
      const large = (name: string, sk: number): Document => ({
        _id: name.repeat(key_bytes),
        sk,
        text: 'x'.repeat(16 * 2 ** 20 - key_bytes - 100),
      });
      const small = ['a', 'b', 'h', 'n', new MaxKey()].map((_id, n) => ({ _id, sk: n % 2 === 0 ? -1 : 1, $dollar: n }));
      for (const document of [...small, large('g', 1), large('m', -1)]) await servers.insert(document);
      const { documents } = await readInOrder(servers, batchSize, await timeAfterWrites(servers));
      expect(
        documents.map(({ _id, sk, $dollar, text }) => [
          typeof _id === 'string' ? _id[0] : 'MaxKey',
          sk as number,
          $dollar as number,
          (text as string | undefined)?.length,
        ]),
      ).toEqual([
        ['a', -1, 0, undefined],
        ['b', 1, 1, undefined],
        ['g', 1, undefined, 16 * 2 ** 20 - key_bytes - 100],
        ['h', -1, 2, undefined],
        ['m', -1, undefined, 16 * 2 ** 20 - key_bytes - 100],
        ['n', 1, 3, undefined],
        ['MaxKey', -1, 4, undefined],
      ]);
    },
  );
});
