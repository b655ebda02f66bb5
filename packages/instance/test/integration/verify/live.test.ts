import type { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import type { CallOptions, NodeClient, RawCursor } from '../../../src/cluster/node-client.js';
import { testSeed } from '../../../../../test/seed.js';
import { evenly } from '../../unit/verify/evenly.js';
import { ClientProxy } from './client-proxy.js';
import { TwoClusters } from './two-clusters.js';

interface Item {
  _id: number;
  n: number;
}

const items = (client: MongoClient) => client.db('live').collection<Item>('items');

/** Writes to the source, and delayed to the destination. */
async function writeWithLag(clusters: TwoClusters, lag_ms: number, until: AbortSignal): Promise<number> {
  const random = evenly(testSeed);
  let writes = 0;
  let late = Promise.resolve();
  let waiting = 0;
  for (let step = 0; !until.aborted; step += 1) {
    const _id = Math.floor(random() * 400);
    const apply = async (client: MongoClient): Promise<void> => {
      if (step % 5 === 0) await items(client).deleteOne({ _id });
      else await items(client).updateOne({ _id }, { $set: { n: step } }, { upsert: true });
    };
    await apply(clusters.source.client);
    const due_ms = performance.now() + lag_ms;
    // One after the other: the destination gets the writes to one document in the order of the source.
    late = late.then(async () => {
      await wait(Math.max(0, due_ms - performance.now()));
      await apply(clusters.destination.client);
      waiting -= 1;
    });
    writes += 1;
    waiting += 1;
    if (waiting > 5) await late;
  }
  await late;
  return writes;
}

/** A client that runs something before every check of the items. */
class RestlessClient extends ClientProxy {
  beforeLook = (): Promise<unknown> => Promise.resolve();

  override async openCursor(
    database: string,
    command: Record<string, unknown>,
    options: CallOptions,
  ): Promise<RawCursor> {
    if (command['find'] === 'items') await this.beforeLook();
    return super.openCursor(database, command, options);
  }
}

describe('during writes', () => {
  const clients: RestlessClient[] = [];
  let clusters: TwoClusters;
  beforeAll(async () => {
    const source = (nodeClient: NodeClient): NodeClient => {
      const restless = new RestlessClient(nodeClient);
      clients.push(restless);
      return restless;
    };
    clusters = await TwoClusters.open([2, 3], { source });
    for (const { client } of clusters.sides) {
      await client.db('admin').command({ enableSharding: 'live' });
      await client.db('admin').command({ shardCollection: 'live.items', key: { _id: 'hashed' } });
      await items(client).insertMany(Array.from({ length: 2_000 }, (_, _id) => ({ _id, n: 0 })));
    }
  });
  afterAll(() => clusters[Symbol.asyncDispose]());

  test('what is only late is no difference, and what is wrong is found', async () => {
    await items(clusters.destination.client).updateOne({ _id: 1_500 }, { $set: { n: -1 } });
    const stop = new AbortController();
    const writing = writeWithLag(clusters, 50, stop.signal);
    // Writes continue while the suspects of the first check are checked again twice.
    let rechecks: number | null = null;
    for (const nodeClient of clients)
      nodeClient.beforeLook = () => {
        if (rechecks !== null && (rechecks += 1) > 2) stop.abort();
        return Promise.resolve();
      };
    const comparing = clusters.compare({
      options: { rule: { settle_ms: 3_000, looksMin: 3 }, generationsMax: 20, record_ms: 50 },
      entered: (phase) => {
        if (phase === 'checking again') rechecks = 0;
        if (phase === 'comparing definitions') stop.abort();
      },
    });
    expect(await writing).toBeGreaterThan(0);
    const compared = await comparing;
    expect(compared.documents).toEqual([expect.objectContaining({ kind: 'different', _id: { $numberInt: '1500' } })]);
    expect(compared).toMatchObject({ verdict: 'different', totals: { mismatches: 1, suspects: 0 } });
  });

  test('what keeps changing is undecided', async () => {
    const { client } = clusters.source;
    await items(clusters.destination.client).updateOne({ _id: 1_500 }, { $set: { n: 0 } });
    let n = 1_000_000;
    for (const nodeClient of clients)
      nodeClient.beforeLook = () => items(client).updateOne({ _id: 3 }, { $set: { n: (n += 1) } }, { upsert: true });
    const compared = await clusters.compare({ options: { rule: { settle_ms: 0, looksMin: 3 }, generationsMax: 3 } });
    for (const nodeClient of clients) nodeClient.beforeLook = () => Promise.resolve();
    expect(compared).toMatchObject({
      verdict: 'undecided',
      documents: [],
      totals: { suspects: 1, mismatches: 0 },
      generations: 3,
    });
    await items(clusters.destination.client).replaceOne(
      { _id: 3 },
      (await items(clusters.source.client).findOne({ _id: 3 })) ?? { n: 0 },
      { upsert: true },
    );
    expect(await clusters.compare()).toMatchObject({ verdict: 'equal' });
  });
});

/** A client whose cursors sometimes fail, and that counts what is read. */
class FaultyClient extends ClientProxy {
  documentsRead = 0;
  failAfter = Infinity;
  failure: () => Error = () => new Error('not used');

  override async openCursor(
    database: string,
    command: Record<string, unknown>,
    options: CallOptions,
  ): Promise<RawCursor> {
    const cursor = await super.openCursor(database, command, options);
    if (command['find'] === 'items' && command['hint'] !== undefined) this.#count(cursor.first.documents.length);
    return this.#watched(cursor, command['hint'] !== undefined);
  }

  #watched(cursor: RawCursor, counts: boolean): RawCursor {
    return {
      first: cursor.first,
      get open() {
        return cursor.open;
      },
      next: async (options) => {
        const batch = await cursor.next(options);
        if (counts) this.#count(batch.documents.length);
        return batch;
      },
      close: () => cursor.close(),
    };
  }

  #count(documents: number): void {
    this.documentsRead += documents;
    if (this.documentsRead < this.failAfter) return;
    this.failAfter = Infinity;
    throw this.failure();
  }
}

describe('an interrupted comparison', () => {
  test('continues with what is left, and finds each difference once', async () => {
    const clients: FaultyClient[] = [];
    const faulty = (nodeClient: NodeClient) => {
      const wrapped = new FaultyClient(nodeClient);
      clients.push(wrapped);
      return wrapped;
    };
    await using clusters = await TwoClusters.open([2, 2], { source: faulty });
    const documents = 60_000;
    for (const { client } of clusters.sides) {
      await items(client).insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, n: 0 })));
      await client.db('live').createCollection('other');
    }
    const wrong = [10, 20_000, 40_000, 59_999];
    await items(clusters.destination.client).deleteMany({ _id: { $in: wrong } });
    const [nodeClient] = clients;
    if (nodeClient === undefined) throw new Error('the source has a client');
    const folder = clusters.newFolder();
    nodeClient.failure = () => new Error('killed');
    for (const failAfter of [15_000, 30_000, 50_000]) {
      nodeClient.failAfter = failAfter;
      await expect(clusters.compare({ folder, options: { record_ms: 0 } })).rejects.toThrow('killed');
    }
    const compared = await clusters.compare({ folder, options: { record_ms: 0 } });
    expect(compared.documents.map(({ kind, _id }) => [kind, _id])).toEqual(
      wrong.map((_id) => ['missingOnDestination', { $numberInt: String(_id) }]),
    );
    expect(compared).toMatchObject({
      verdict: 'different',
      runs: 4,
      totals: { sourceDocuments: documents, destinationDocuments: documents - wrong.length, mismatches: 4 },
    });
    expect(nodeClient.documentsRead).toBeLessThan(documents * 1.5);
  });

  test('does not continue for other clusters or with another filter', async () => {
    await using clusters = await TwoClusters.open([1, 1]);
    for (const { client } of clusters.sides) await items(client).insertOne({ _id: 1, n: 1 });
    const folder = clusters.newFolder();
    expect(await clusters.compare({ folder })).toMatchObject({ verdict: 'equal' });
    await expect(
      clusters.compare({ folder, filter: { includeNamespaces: [{ database: 'live' }] } }),
    ).rejects.toMatchObject({ error: 'invalidConfiguration' });
  });
});

describe('clusters of different kinds', () => {
  test.each([
    ['a replica set and a sharded cluster', [0, 2], 'destination'],
    ['a sharded cluster and a replica set', [2, 0], 'source'],
  ] as const)('%s', async (_what, shards, sharded) => {
    await using clusters = await TwoClusters.open(shards);
    const { client } = clusters[sharded];
    await client.db('admin').command({ enableSharding: 'live' });
    await client.db('admin').command({ shardCollection: 'live.items', key: { n: 1 } });
    for (const side of clusters.sides) await items(side.client).createIndexes([{ key: { n: 1 } }]);
    for (const side of clusters.sides)
      await items(side.client).insertMany(Array.from({ length: 500 }, (_, _id) => ({ _id, n: _id % 9 })));
    expect(await clusters.compare()).toMatchObject({
      verdict: 'equal',
      shardKeysCompared: false,
      totals: { sourceDocuments: 500, destinationDocuments: 500 },
    });
    await items(clusters.destination.client).deleteOne({ _id: 7, n: 7 });
    expect((await clusters.compare()).documents).toMatchObject([
      { kind: 'missingOnDestination', _id: { $numberInt: '7' } },
    ]);
  });

  test('a cluster cannot be compared with itself', async () => {
    await using clusters = await TwoClusters.open([1, 1]);
    const itself = Object.assign(Object.create(TwoClusters.prototype) as TwoClusters, {
      source: clusters.source,
      destination: clusters.source,
      newFolder: () => clusters.newFolder(),
    });
    await expect(itself.compare()).rejects.toMatchObject({ error: 'sourceEqualsDestination' });
  });
});
