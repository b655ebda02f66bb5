import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { catalogChanges } from '../../../src/catalog/compare-catalogs.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readCatalog, readCatalogReport } from '../../../src/catalog/read-catalog.js';
import { restoredEntry, storedEntry } from '../../../src/catalog/catalog-bytes.js';
import { fakeCluster, FakeNodeClient, type Handler, serverError } from '../fake-node-client.js';
import { FakeCatalogServer } from './fake-catalog-server.js';
import { boundsOf, keyPattern } from './as-read.js';

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const { signal } = new AbortController();
const low = new BSON.MinKey();
const high = new BSON.MaxKey();

function halves(field: string): Document[] {
  return [
    { min: { [field]: low }, max: { [field]: BSON.Long.fromNumber(0) }, shard: 'shard0' },
    { min: { [field]: BSON.Long.fromNumber(0) }, max: { [field]: high }, shard: 'shard1' },
  ];
}

describe('readCatalog', () => {
  it('reads collections and views in order of namespace, with sizes', async () => {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.add('shop.orders', { documents: [{}, {}] });
    server.add('app.z', {});
    server.add('app.a', { type: 'view', options: { viewOn: 'z', pipeline: [] } });
    server.add('app.system.views');
    server.add('app.system.js');
    server.add('convoy_metadata.migration');
    const catalog = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
    expect(catalog.map((entry) => `${entry.database}.${entry.name}`)).toEqual([
      'app.a',
      'app.system.js',
      'app.z',
      'shop.orders',
    ]);
    expect(catalog[0]).toMatchObject({ type: 'view', uuid: '', indexes: [], sharding: null });
    expect(catalog[3]).toMatchObject({ type: 'collection', primaryShard: 'shard0', sizeBytes: 20, documentCount: 2 });
    expect(catalog[3]?.uuid).toMatch(/^[0-9a-f]{32}$/);
  });

  it('reports time series separately', async () => {
    const server = new FakeCatalogServer(['shard0']);
    server.add('app.series', { type: 'timeseries' });
    server.add('app.system.buckets.series');
    const report = await readCatalogReport(fakeCluster({ router: server.client }), everything, signal);
    expect(report).toMatchObject({ catalog: [], timeSeries: ['app.series'] });
  });

  it('keeps the number types of validators, pipelines and partial filters', async () => {
    const server = new FakeCatalogServer(['shard0']);
    const exact = { $gt: new BSON.Double(1), $lt: BSON.Long.fromNumber(2) };
    server.add('app.c', {
      options: { capped: true, size: 4096, validator: { a: exact } },
      indexes: [{ v: 2, key: { a: 1 }, name: 'a', partialFilterExpression: { a: exact } }],
    });
    const [entry] = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
    expect(entry?.options.size).toBe(4096);
    expect(BSON.EJSON.stringify(entry?.options.validator, { relaxed: false })).toBe(
      BSON.EJSON.stringify({ a: exact }, { relaxed: false }),
    );
    expect(BSON.EJSON.stringify(entry?.indexes[1]?.partialFilterExpression, { relaxed: false })).toBe(
      BSON.EJSON.stringify({ a: exact }, { relaxed: false }),
    );
  });

  it('keeps the order of fields with numeric names wherever it matters, also when stored', async () => {
    const ordered = (second: unknown): Map<string, unknown> =>
      new Map([
        ['b', 1],
        ['10', second],
      ]);
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    const [min, max] = [{ k: ordered(new BSON.Int32(1)) }, { k: ordered(new BSON.Double(2)) }];
    server.addSharded('app.a', ordered(1), false, [{ min, max, shard: 'shard0' }], {
      options: { validator: ordered(1) },
      indexes: [
        { v: 2, key: ordered(-1), name: 'by', partialFilterExpression: { k: ordered(1) }, weights: ordered(3) },
      ],
    });
    server.add('app.view', { type: 'view', options: { viewOn: 'a', pipeline: [{ $sort: ordered(-1) }] } });
    const catalog = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
    for (const [entry, view] of [catalog, catalog.map((one) => restoredEntry(storedEntry(one)))]) {
      const by = entry?.indexes.find(({ name }) => name === 'by');
      const maps: unknown[] = [
        entry?.sharding?.key,
        by?.key,
        by?.weights,
        entry?.options.validator,
        (by?.partialFilterExpression as Map<string, unknown> | undefined)?.get('k'),
      ];
      const [stage] = view?.options.pipeline as Map<string, unknown>[];
      for (const map of [...maps, stage?.get('$sort')])
        expect([...(map as Map<string, unknown>).keys()]).toEqual(['b', '10']);
      expect(entry?.sharding?.chunks.map((chunk) => [Buffer.from(chunk.min), Buffer.from(chunk.max)])).toEqual([
        [Buffer.from(BSON.serialize(min)), Buffer.from(BSON.serialize(max))],
      ]);
    }
  });

  it('reads chunks by UUID, or by name before 5.0, and keeps the Longs of hashed keys', async () => {
    for (const link of ['uuid', 'ns']) {
      const server = new FakeCatalogServer(['shard0', 'shard1']);
      server.addSharded('app.h', { _id: 'hashed' }, false, halves('_id'));
      if (link === 'ns') for (const chunk of server.chunks) Object.assign(chunk, { uuid: undefined, ns: 'app.h' });
      const [entry] = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
      expect(entry?.sharding).toMatchObject({ key: keyPattern({ _id: 'hashed' }), unique: false });
      expect(entry?.sharding?.chunks.map((chunk) => chunk.shard)).toEqual(['shard0', 'shard1']);
      expect(entry?.sharding?.chunks.map(boundsOf)[0]?.max._id).toBeInstanceOf(BSON.Long);
    }
  });

  it('detects by chunk versions whether one was ever moved', async () => {
    const everMoved = async (...majors: (number | null)[]) => {
      const server = new FakeCatalogServer(['shard0', 'shard1']);
      server.addSharded('app.c', { k: 1 }, false, halves('k'));
      server.chunks.forEach((chunk, index) =>
        Object.assign(
          chunk,
          majors[index] === null ? {} : { lastmod: new BSON.Timestamp({ t: majors[index] ?? 0, i: index }) },
        ),
      );
      const [entry] = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
      return entry?.sharding?.everMoved;
    };
    expect(await everMoved(1, 1)).toBe(false);
    expect(await everMoved(1, 2)).toBe(true);
    expect(await everMoved(3, 2)).toBe(true);
    expect(await everMoved(1, null)).toBe(true);
  });

  it.each([
    ['through a router before 6.0', 'router', [5, 0, 7], true],
    ['through a later router, whose stream omits orphans', 'router', [6, 0, 1], false],
    ['directly, because a shard knows what it owns', 'direct', [5, 0, 7], false],
  ] as const)(
    'treats a started move as one that may have left orphans: %s',
    async (_how, access, version, expected) => {
      const server = new FakeCatalogServer(['shard0', 'shard1']);
      for (const name of ['app.begun', 'app.still']) server.addSharded(name, { k: 1 }, false, halves('k'));
      for (const chunk of server.chunks) Object.assign(chunk, { lastmod: new BSON.Timestamp({ t: 1, i: 0 }) });
      server.changelog.push({ what: 'moveChunk.start', ns: 'app.begun' });
      const shards = new Map([
        ['shard0', server.client],
        ['shard1', server.client],
      ]);
      const catalog = await readCatalog(
        fakeCluster({ router: server.client, shards, access, version }),
        everything,
        signal,
      );
      expect(catalog.map(({ name, sharding }) => [name, sharding?.everMoved])).toEqual([
        ['begun', expected],
        ['still', false],
      ]);
    },
  );

  it('treats a moved unsharded collection of 8.0 as unsharded, on its owner', async () => {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.addSharded('app.c', { _id: 1 }, false, [{ min: { _id: low }, max: { _id: high }, shard: 'shard1' }]);
    Object.assign(server.sharded.get('app.c') ?? {}, { unsplittable: true });
    const [entry] = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
    expect(entry).toMatchObject({ sharding: null, primaryShard: 'shard1' });
  });

  it('counts the changes of a primary shard for collections that follow it, not for one elsewhere', async () => {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.add('app.plain');
    server.addSharded('app.moved', { _id: 1 }, false, [{ min: { _id: low }, max: { _id: high }, shard: 'shard1' }]);
    Object.assign(server.sharded.get('app.moved') ?? {}, { unsplittable: true });
    Object.assign(server.databases.get('app') ?? {}, { version: { lastMod: 3 } });
    const catalog = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
    expect(new Map(catalog.map(({ name, primaryVersion }) => [name, primaryVersion]))).toEqual(
      new Map([
        ['plain', 3],
        ['moved', undefined],
      ]),
    );
  });

  it('reads a replica set without a config database', async () => {
    const server = new FakeCatalogServer(['rs']);
    server.add('app.c');
    const cluster = fakeCluster({ router: server.client, kind: 'replicaSet', shardIds: ['rs'] });
    expect(await readCatalog(cluster, everything, signal)).toMatchObject([
      { name: 'c', sharding: null, primaryShard: 'rs' },
    ]);
    expect(server.client.sent.some(({ database }) => database === 'config')).toBe(false);
  });

  it('omits collections dropped in the meantime, and uses zeros if sizes may not be read', async () => {
    const server = new FakeCatalogServer(['shard0']);
    server.add('app.gone', { type: 'collection' });
    server.add('app.kept');
    const table: Record<string, Handler> = {
      listDatabases: () => ({ databases: [{ name: 'app' }] }),
      listCollections: () => ({
        cursor: { firstBatch: ['gone', 'kept'].map((name) => ({ name, type: 'collection', options: {}, info: {} })) },
      }),
      listIndexes: (_, command) => {
        if (command.listIndexes === 'gone') throw serverError(26, 'NamespaceNotFound');
        return { cursor: { firstBatch: [{ v: 2, key: { _id: 1 }, name: '_id_' }] } };
      },
      find: () => ({ cursor: { firstBatch: [] } }),
      dataSize: () => {
        throw serverError(13, 'Unauthorized');
      },
    };
    const catalog = await readCatalog(fakeCluster({ router: new FakeNodeClient('router', table) }), everything, signal);
    expect(catalog).toMatchObject([{ name: 'kept', sizeBytes: 0, documentCount: 0 }]);
  });

  it('omits a collection that was replaced before its shard key was read, and one whose chunks are gone', async () => {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    for (const name of ['app.again', 'app.going', 'app.kept']) server.addSharded(name, { k: 1 }, false, halves('k'));
    Object.assign(server.sharded.get('app.again') ?? {}, { uuid: new BSON.UUID() });
    const others = server.chunks.filter(({ uuid }) => uuid !== server.sharded.get('app.going')?.uuid);
    server.chunks.splice(0, Infinity, ...others);
    const catalog = await readCatalog(fakeCluster({ router: server.client }), everything, signal);
    expect(catalog.map(({ name }) => name)).toEqual(['kept']);
  });

  it('does not list collections of databases that the filter excludes', async () => {
    const server = new FakeCatalogServer(['shard0']);
    server.add('app.c');
    server.add('other.c');
    const filter = compileNamespaceFilter({ includeNamespaces: [{ database: 'app' }], excludeNamespaces: [] });
    await readCatalog(fakeCluster({ router: server.client }), filter, signal);
    const listed = server.client.sent
      .filter(({ command }) => 'listCollections' in command)
      .map(({ database }) => database);
    expect(listed).toEqual(['app']);
  });
});

describe('inconsistent indexes', () => {
  const shardClient = (indexes: Document[]): FakeNodeClient =>
    new FakeNodeClient('shard', { listIndexes: () => ({ cursor: { firstBatch: indexes } }) });
  const id = { v: 2, key: { _id: 1 }, name: '_id_' };
  const a = { v: 2, key: { a: 1 }, name: 'a_1' };

  it('are found on the shards themselves if they can be reached', async () => {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.addSharded('app.c', { k: 1 }, false, halves('k'));
    const shards = new Map([
      ['shard0', shardClient([id, a])],
      ['shard1', shardClient([{ ...a, unique: true }, id])],
    ]);
    const report = await readCatalogReport(fakeCluster({ router: server.client, shards }), everything, signal);
    expect(report.inconsistentIndexes).toMatchObject([{ namespace: 'app.c', index: 'a_1', shards: ['shard1'] }]);
  });

  /** What a router reports about a collection on two shards. */
  function reportThrough(aggregate: Handler) {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.addSharded('app.c', { k: 1 }, false, halves('k'));
    const answer = server.client;
    const router = new FakeNodeClient('router', {
      ...Object.fromEntries(
        ['listDatabases', 'listCollections', 'listIndexes', 'find', 'dataSize'].map((name) => [
          name,
          forward(answer, name),
        ]),
      ),
      aggregate,
    });
    return readCatalogReport(fakeCluster({ router }), everything, signal);
  }

  it('are found through the router by $indexStats otherwise', async () => {
    const stats = [
      { name: '_id_', shard: 'shard0', spec: id },
      { name: 'a_1', shard: 'shard0', spec: a },
      { name: '_id_', shard: 'shard1', spec: id },
    ];
    const report = await reportThrough(() => ({ cursor: { firstBatch: stats } }));
    expect(report.inconsistentIndexes).toMatchObject([{ namespace: 'app.c', index: 'a_1', shards: ['shard1'] }]);
  });

  it('are none of those that a shard is still building, which no shard is taken to have', async () => {
    const stats = [
      { name: '_id_', shard: 'shard0', spec: id },
      { name: 'a_1', shard: 'shard0', spec: a },
      { name: '_id_', shard: 'shard1', spec: id },
      { name: 'a_1', shard: 'shard1', spec: a, building: true },
    ];
    const routed = await reportThrough(() => ({ cursor: { firstBatch: stats } }));
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.addSharded('app.c', { k: 1 }, false, halves('k'));
    const shards = new Map([
      ['shard0', shardClient([id, a])],
      ['shard1', shardClient([id, { spec: a, buildUUID: new BSON.UUID() }])],
    ]);
    const direct = await readCatalogReport(fakeCluster({ router: server.client, shards }), everything, signal);
    for (const { inconsistentIndexes, catalog } of [routed, direct]) {
      expect(inconsistentIndexes).toEqual([]);
      expect(catalog[0]?.indexes.map(({ name }) => name as string)).toEqual(['_id_']);
      expect(catalog[0]?.buildingIndexes?.map(({ name }) => name as string)).toEqual(['a_1']);
    }
  });

  it('stay unknown without the privilege alone: another failure of $indexStats is one of the reading', async () => {
    const refusing = (code: number) =>
      reportThrough(() => {
        throw serverError(code, 'Refused');
      });
    expect((await refusing(13)).inconsistentIndexes).toEqual([]);
    for (const code of [11_602, 13_388]) await expect(refusing(code)).rejects.toMatchObject({ code });
  });

  function forward(client: FakeNodeClient, name: string): Handler {
    const handler = client.handlerOf(name);
    return (database, command, exact) => handler(database, command, exact);
  }
});

describe('the changes between two reads', () => {
  it('are those of definitions and owners, not of sizes or splits', async () => {
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    server.addSharded('app.c', { k: 1 }, false, halves('k'), { documents: [{}] });
    const read = () => readCatalog(fakeCluster({ router: server.client }), everything, signal);
    let before = await read();
    const changed = async (): Promise<string[]> => {
      const after = await read();
      const kinds = catalogChanges(before, after).map(({ kind }) => kind);
      before = after;
      return kinds;
    };
    server.databases.get('app')?.collections.get('c')?.documents.push({});
    const [lower] = server.chunks;
    if (lower === undefined) throw new Error('the collection has chunks');
    server.chunks.splice(0, 1, { ...lower, max: { k: -5 } }, { ...lower, min: { k: -5 } });
    expect(await changed()).toEqual([]);
    server.databases
      .get('app')
      ?.collections.get('c')
      ?.indexes.push({ v: 2, key: { a: 1 }, name: 'a_1' });
    expect(await changed()).toEqual(['indexes']);
    Object.assign(server.chunks[0] ?? {}, { shard: 'shard1' });
    expect(await changed()).toEqual(['chunksMoved']);
  });
});
