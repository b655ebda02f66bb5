import { startRequestSchema } from '@convoy/api/contract/start-request';
import type { StartRequest, StartRequestBody } from '@convoy/api/contract/start-request';
import { BSON, MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { catalogChanges, compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { createCollections } from '../../../src/catalog/create-collections.js';
import type { Catalog } from '../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readCatalog, readCatalogReport } from '../../../src/catalog/read-catalog.js';
import { restoreAttributes } from '../../../src/catalog/index-attributes.js';
import type { ClusterClient, NodeClient } from '../../../src/cluster/node-client.js';
import { checkStart } from '../../../src/preflight/check-start.js';
import { openTestCluster } from './clusters.js';
import { finalIndexScope } from '../../../src/catalog/index-plan.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const { signal } = new AbortController();
const confirm = (): Promise<void> => Promise.resolve();

function requestOf(body: Partial<StartRequestBody> = {}): StartRequest {
  return startRequestSchema.parse({
    source: 'cluster0',
    destination: 'cluster1',
    verification: { enabled: false },
    ...body,
  });
}

/** Collections of every kind, with indexes whose attributes are deferred. */
async function makePlainCollections(client: MongoClient): Promise<void> {
  const app = client.db('app');
  await app.createCollection('plain');
  await app.command({
    createIndexes: 'plain',
    indexes: [
      { key: { u: 1 }, name: 'u_1', unique: true },
      { key: { t: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
      { key: { h: 1 }, name: 'hid', hidden: true },
      { key: { p: 1 }, name: 'part', partialFilterExpression: { p: { $gt: 5 } } },
      { key: { s: 1 }, name: 'sparse', sparse: true },
      { key: { hh: 'hashed' }, name: 'hh_hashed' },
      { key: { txt: 'text' }, name: 'txt', weights: { txt: 3 }, default_language: 'french' },
      { key: { g: '2dsphere' }, name: 'geo' },
      { key: { '$**': 1 }, name: 'wild', wildcardProjection: { w: 1 } },
      { key: { c: 1, d: -1 }, name: 'coll', collation: { locale: 'de' } },
    ],
  });
  await app.createCollection('capped', { capped: true, size: 10_000, max: 50 });
  await app.createCollection('collated', { collation: { locale: 'fr', strength: 2 } });
  await app.command({
    createIndexes: 'collated',
    indexes: [
      { key: { a: 1 }, name: 'simple', collation: { locale: 'simple' } },
      { key: { b: 1 }, name: 'inherits' },
    ],
  });
  await app.createCollection('validated', { validator: { a: { $gt: new BSON.Double(1) } }, validationAction: 'warn' });
  await app.createCollection('view', { viewOn: 'plain', pipeline: [{ $match: { a: { $gt: 1 } } }] });
  await app.collection('plain').insertMany(Array.from({ length: 20 }, (_, position) => ({ u: position })));
}

async function makeShardedCollections(client: MongoClient): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: 'app', primaryShard: 'shard1' });
  await admin.command({ shardCollection: 'app.ranged', key: { sk: 1 } });
  for (const middle of [-100, 0, 100]) await admin.command({ split: 'app.ranged', middle: { sk: middle } });
  await admin.command({ moveChunk: 'app.ranged', find: { sk: 50 }, to: 'shard0', _waitForDelete: true });
  await admin.command({ shardCollection: 'app.hashed', key: { _id: 'hashed' }, numInitialChunks: 4 });
  await admin.command({ shardCollection: 'app.compound', key: { tenant: 1, h: 'hashed' } });
  await client
    .db('app')
    .command({ createIndexes: 'uniq', indexes: [{ key: { email: 1 }, name: 'by_email', unique: true }] });
  await admin.command({ shardCollection: 'app.uniq', key: { email: 1 }, unique: true });
}

async function differences(
  sourceCatalog: Catalog,
  destination: ClusterClient,
  form: 'temporary' | 'final',
  request = requestOf(),
) {
  const made = await readCatalog(destination, everything, signal);
  return compareCatalogs(sourceCatalog, made, {
    form,
    indexScope: finalIndexScope(request.buildIndexes),
    remap: noRemap,
    destination,
  });
}

const distributionOf = (catalog: Catalog): unknown =>
  catalog
    .filter((entry) => entry.sharding !== null)
    .map(({ name, sharding }) => ({
      name,
      chunks: sharding?.chunks.map(({ min, max, shard }) => BSON.EJSON.stringify({ min, max, shard })),
    }));

describe('from a sharded cluster to an equal one', () => {
  it('creates collections with options, indexes and distribution, and restores what was deferred', async () => {
    await using source = await openTestCluster('cluster0', 2);
    await using destination = await openTestCluster('cluster1', 2);
    await makeShardedCollections(source.client);
    await makePlainCollections(source.client);
    await destination.client.db('admin').command({ balancerStop: 1 });

    const { plan, sourceCatalog } = await checkStart({
      source: source.cluster,
      destination: destination.cluster,
      request: requestOf(),
      signal,
    });
    await createCollections({ destination: destination.cluster, signal, confirm }, plan);
    expect(await differences(sourceCatalog, destination.cluster, 'temporary')).toEqual([]);
    const made = await readCatalog(destination.cluster, everything, signal);
    expect(distributionOf(made)).toEqual(distributionOf(sourceCatalog));
    expect(new Set(made.map((entry) => entry.primaryShard))).toEqual(new Set(['shard1']));
    const config = destination.client.db('config');
    expect(await config.collection('tags').countDocuments()).toBe(0);
    expect(
      (await config.collection('shards').find().toArray()).flatMap(
        (shard) => (shard.tags as string[] | undefined) ?? [],
      ),
    ).toEqual([]);

    await restoreAttributes({ destination: destination.cluster, signal, confirm }, plan);
    expect(await differences(sourceCatalog, destination.cluster, 'final')).toEqual([]);
  });

  it('names the index that documents on the destination violate', async () => {
    await using source = await openTestCluster('cluster0', 1);
    await using destination = await openTestCluster('cluster1', 1);
    await makePlainCollections(source.client);
    const { plan } = await checkStart({
      source: source.cluster,
      destination: destination.cluster,
      request: requestOf(),
      signal,
    });
    await createCollections({ destination: destination.cluster, signal, confirm }, plan);
    await destination.client
      .db('app')
      .collection('plain')
      .insertMany([{ u: 'secret' }, { u: 'secret' }]);
    await expect(restoreAttributes({ destination: destination.cluster, signal, confirm }, plan)).rejects.toMatchObject({
      error: 'uniqueIndexViolated',
      errorDescription: 'Documents of app.plain on the destination violate the unique index u_1.',
    });
    await destination.client.db('app').collection('plain').deleteMany({});
    await restoreAttributes({ destination: destination.cluster, signal, confirm }, plan);
  });

  it('is refused while the destination holds documents or a different collection', async () => {
    await using source = await openTestCluster('cluster0', 1);
    await using destination = await openTestCluster('cluster1', 1);
    await makePlainCollections(source.client);
    const check = (): Promise<unknown> =>
      checkStart({ source: source.cluster, destination: destination.cluster, request: requestOf(), signal });
    await destination.client.db('app').collection('plain').insertOne({ a: 1 });
    await expect(check()).rejects.toMatchObject({ error: 'destinationNotEmpty' });
    await destination.client.db('app').collection('plain').deleteMany({});
    await check();
    await destination.client.db('app').createCollection('capped');
    await expect(check()).rejects.toMatchObject({ error: 'destinationNotEmpty' });
    await expect(
      checkStart({ source: source.cluster, destination: source.cluster, request: requestOf(), signal }),
    ).rejects.toMatchObject({
      error: 'sourceEqualsDestination',
    });
  });

  it('continues after a lost connection', async () => {
    let commandsLeft = Infinity;
    const wrap = (nodeClient: NodeClient): NodeClient => ({
      ...nodeClient,
      label: nodeClient.label,
      openCursor: (...call) => nodeClient.openCursor(...call),
      write: (...call) => nodeClient.write(...call),
      close: () => nodeClient.close(),
      async command(...call) {
        commandsLeft -= 1;
        const isLost = commandsLeft === 0;
        const reply = await nodeClient.command(...call);
        if (isLost) throw new Error('connection lost');
        return reply;
      },
    });
    await using source = await openTestCluster('cluster0', 2);
    await using destination = await openTestCluster('cluster1', 2, { wrap });
    await makeShardedCollections(source.client);
    await makePlainCollections(source.client);
    await destination.client.db('admin').command({ balancerStop: 1 });
    const { plan, sourceCatalog } = await checkStart({
      source: source.cluster,
      destination: destination.cluster,
      request: requestOf(),
      signal,
    });
    let losses = 0;
    for (const afterCommands of [3, 9, 12, 15, 8, Infinity]) {
      commandsLeft = afterCommands;
      try {
        await createCollections({ destination: destination.cluster, signal, confirm }, plan);
      } catch (failure) {
        expect(String(failure)).toContain('connection lost');
        losses += 1;
      }
    }
    expect(losses).toBeGreaterThan(2);
    expect(await differences(sourceCatalog, destination.cluster, 'temporary')).toEqual([]);
    expect(distributionOf(await readCatalog(destination.cluster, everything, signal))).toEqual(
      distributionOf(sourceCatalog),
    );
    expect(await destination.client.db('config').collection('tags').countDocuments()).toBe(0);
  });
});

describe('from two shards to three', () => {
  it('distributes ranges over all shards', async () => {
    await using source = await openTestCluster('cluster0', 2);
    await using destination = await openTestCluster('cluster1', 3, { direct: false });
    await makeShardedCollections(source.client);
    await destination.client.db('admin').command({ balancerStop: 1 });
    const { plan, sourceCatalog } = await checkStart({
      source: source.cluster,
      destination: destination.cluster,
      request: requestOf(),
      signal,
    });
    await createCollections({ destination: destination.cluster, signal, confirm }, plan);
    expect(await differences(sourceCatalog, destination.cluster, 'temporary')).toEqual([]);
    const made = await readCatalog(destination.cluster, everything, signal);
    const owners = (name: string): Set<string | undefined> =>
      new Set(made.find((entry) => entry.name === name)?.sharding?.chunks.map((chunk) => chunk.shard));
    expect(owners('ranged').size).toBe(3);
    expect(owners('hashed').size).toBe(3);
  });
});

describe('from a replica set', () => {
  it('to a replica set needs no sharding', async () => {
    await using source = await openTestCluster('cluster0', 0);
    await using destination = await openTestCluster('cluster1', 0);
    await makePlainCollections(source.client);
    const { plan, sourceCatalog } = await checkStart({
      source: source.cluster,
      destination: destination.cluster,
      request: requestOf(),
      signal,
    });
    await createCollections({ destination: destination.cluster, signal, confirm }, plan);
    await restoreAttributes({ destination: destination.cluster, signal, confirm }, plan);
    expect(await differences(sourceCatalog, destination.cluster, 'final')).toEqual([]);
  });

  it('to a sharded cluster shards what was requested, pre-split by a sample', async () => {
    await using source = await openTestCluster('cluster0', 0);
    await using destination = await openTestCluster('cluster1', 2);
    await makePlainCollections(source.client);
    await source.client
      .db('app')
      .collection('events')
      .insertMany(Array.from({ length: 200 }, (_, position) => ({ k: position })));
    await destination.client.db('admin').command({ balancerStop: 1 });
    const request = requestOf({
      sharding: {
        createSupportingIndexes: true,
        shardingEntries: [{ database: 'app', collection: 'events', shardCollection: { key: [{ k: 1 }] } }],
      },
    });
    const { plan, sourceCatalog } = await checkStart({
      source: source.cluster,
      destination: destination.cluster,
      request,
      signal,
    });
    await createCollections({ destination: destination.cluster, signal, confirm }, plan);
    expect(await differences(sourceCatalog, destination.cluster, 'temporary')).toEqual([]);
    const events = (await readCatalog(destination.cluster, everything, signal)).find(
      (entry) => entry.name === 'events',
    );
    expect(events?.sharding?.chunks.map((chunk) => chunk.shard).join(' ')).toBe(
      'shard0 shard0 shard0 shard0 shard1 shard1 shard1 shard1',
    );
    expect(events?.indexes.map((index) => index.name as string)).toEqual(['_id_', 'k_1']);
  });
});

describe('a catalog that changes', () => {
  it('shows DDL by UUID', async () => {
    await using source = await openTestCluster('cluster0', 2);
    await makeShardedCollections(source.client);
    await makePlainCollections(source.client);
    const before = await readCatalog(source.cluster, everything, signal);
    expect(catalogChanges(before, await readCatalog(source.cluster, everything, signal))).toEqual([]);
    const app = source.client.db('app');
    await app.collection('capped').drop();
    await app.collection('validated').rename('renamed');
    await app.createCollection('new');
    await app.collection('plain').dropIndex('u_1');
    await app.command({ collMod: 'plain', index: { name: 'ttl', expireAfterSeconds: 60 } });
    await source.client
      .db('admin')
      .command({ moveChunk: 'app.ranged', find: { sk: -500 }, to: 'shard0', _waitForDelete: true });
    const after = await readCatalog(source.cluster, everything, signal);
    const changes = catalogChanges(before, after).map((change) => `${change.kind} ${change.entry.name}`);
    expect(changes).toEqual([
      'dropped capped',
      'renamed renamed',
      'created new',
      'indexes plain',
      'chunksMoved ranged',
    ]);
  });

  it('is read again when a primary moves meanwhile, with its collections under new UUIDs', async () => {
    let move: (() => Promise<unknown>) | null = null;
    const afterListing = async (): Promise<void> => {
      const moving = move;
      move = null;
      await moving?.();
    };
    const wrap = (nodeClient: NodeClient): NodeClient => ({
      label: nodeClient.label,
      command: (...call) => nodeClient.command(...call),
      write: (...call) => nodeClient.write(...call),
      close: () => nodeClient.close(),
      async openCursor(database, command, options) {
        const cursor = await nodeClient.openCursor(database, command, options);
        if (database === 'app' && 'listCollections' in command) await afterListing();
        return cursor;
      },
    });
    await using source = await openTestCluster('cluster0', 2, { wrap });
    await source.client.db('app').createCollection('plain');
    const before = await readCatalog(source.cluster, everything, signal);
    const to = source.cluster.shardIds.find((id) => id !== before[0]?.primaryShard) ?? '';
    move = () => source.client.db('admin').command({ movePrimary: 'app', to });
    const after = await readCatalog(source.cluster, everything, signal);
    expect(catalogChanges(before, after).map(({ kind }) => kind)).toEqual(['dropped', 'created']);
    expect(after).toMatchObject([{ name: 'plain', primaryShard: to }]);
  });

  it('reports indexes that only some shards have', async () => {
    await using source = await openTestCluster('cluster0', 2);
    await makeShardedCollections(source.client);
    await using shard = await openShardClient(source.cluster, source.client);
    await shard.client
      .db('app')
      .command({ createIndexes: 'ranged', indexes: [{ key: { only: 1 }, name: 'only_here' }] });
    const report = await readCatalogReport(source.cluster, everything, signal);
    expect(report.inconsistentIndexes).toMatchObject([
      { namespace: 'app.ranged', index: 'only_here', shards: ['shard1'] },
    ]);
  });
});

async function openShardClient(
  cluster: ClusterClient,
  router: MongoClient,
): Promise<AsyncDisposable & { client: MongoClient }> {
  const { shards } = (await router.db('admin').command({ listShards: 1 })) as {
    shards: { _id: string; host: string }[];
  };
  const host = shards.find((shard) => shard._id === cluster.shardIds[0])?.host.split('/')[1] ?? '';
  const client = await new MongoClient(`mongodb://${host}/?directConnection=true`).connect();
  return { client, [Symbol.asyncDispose]: () => client.close() };
}
