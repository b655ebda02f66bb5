import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { createCollections } from '../../../src/catalog/create-collections.js';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readCatalog } from '../../../src/catalog/read-catalog.js';
import { restoreAttributes } from '../../../src/catalog/restore-attributes.js';
import type { Cluster } from '../../../src/cluster/door.js';
import { fakeCluster } from '../fake-door.js';
import { ConnectionLost, FakeCatalogServer } from './fake-catalog-server.js';

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const { signal } = new AbortController();
const low = new BSON.MinKey();
const high = new BSON.MaxKey();

function sourceServer(): FakeCatalogServer {
  const server = new FakeCatalogServer(['shard0', 'shard1']);
  server.add('app.plain', {
    indexes: [
      { v: 2, key: { u: 1 }, name: 'u_1', unique: true },
      { v: 2, key: { t: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
      { v: 2, key: { h: 1 }, name: 'hid', hidden: true },
      { v: 2, key: { both: 1 }, name: 'both_plain' },
      { v: 2, key: { both: 1 }, name: 'both_unique', unique: true },
      { v: 1, key: { old: true, zero: 0 }, name: 'legacy', ns: 'app.plain', background: true },
    ],
  });
  server.add('app.collated', {
    options: { collation: { locale: 'fr', version: '57.1' } },
    indexes: [{ v: 2, key: { a: 1 }, name: 'simple' }],
  });
  server.add('app.capped', { options: { capped: true, size: 4096 } });
  server.add('app.view', { type: 'view', options: { viewOn: 'plain', pipeline: [{ $match: { a: new BSON.Double(1) } }] } });
  server.addSharded('app.ranged', { sk: 1 }, false, [
    { min: { sk: low }, max: { sk: 0 }, shard: 'shard1' },
    { min: { sk: 0 }, max: { sk: high }, shard: 'shard0' },
  ], { indexes: [{ v: 2, key: { sk: 1, x: 1 }, name: 'longer', unique: true }] });
  server.addSharded('app.uniq', { email: 1 }, true, [{ min: { email: low }, max: { email: high }, shard: 'shard1' }], {
    indexes: [{ v: 2, key: { email: 1 }, name: 'by_email', unique: true }],
  });
  server.addSharded('app.hashed', { _id: 'hashed' }, false, [
    { min: { _id: low }, max: { _id: BSON.Long.fromNumber(0) }, shard: 'shard0' },
    { min: { _id: BSON.Long.fromNumber(0) }, max: { _id: high }, shard: 'shard1' },
  ], { indexes: [{ v: 2, key: { _id: 'hashed' }, name: '_id_hashed' }] });
  return server;
}

interface Pair {
  source: Cluster;
  destination: Cluster;
  server: FakeCatalogServer;
}

function pair(destinationVersion: 4 | 5 | 6 = 5): Pair {
  const server = new FakeCatalogServer(['a', 'b'], destinationVersion);
  return {
    source: fakeCluster({ router: sourceServer().door }),
    destination: fakeCluster({ router: server.door, shardIds: ['a', 'b'], clusterId: '0b', version: [destinationVersion, 0, 0] }),
    server,
  };
}

async function makePlan({ source, destination }: Pair, buildIndexes: 'beforeDataCopy' | 'never' = 'beforeDataCopy') {
  const catalog = await readCatalog(source, everything, signal);
  return { catalog, plan: planDestination(catalog, { source, destination, buildIndexes }) };
}

/** Runs to the end, beginning anew whenever the connection is lost. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      await work();
      return;
    } catch (failure) {
      if (!(failure instanceof ConnectionLost)) throw failure;
    }
  }
}

describe('createCollections', () => {
  it('makes everything in its temporary form, on the shards where the source has it', async () => {
    const clusters = pair();
    const { catalog, plan } = await makePlan(clusters);
    const created = await createCollections({ destination: clusters.destination, plan, signal });
    const made = await readCatalog(clusters.destination, everything, signal);
    const comparison = { buildIndexes: 'beforeDataCopy', destinationVersion: clusters.destination.version } as const;
    expect(compareCatalogs(catalog, made, { ...comparison, form: 'temporary' })).toEqual([]);
    expect(created.map((row) => row.destinationUuid)).toEqual(made.map((entry) => entry.uuid));
    expect(created.map((row) => row.sourceUuid)).toEqual(catalog.map((entry) => entry.uuid));
    expect(made.find((entry) => entry.name === 'ranged')?.sharding?.chunks).toEqual([
      { min: { sk: low }, max: { sk: 0 }, shard: 'b' },
      { min: { sk: 0 }, max: { sk: high }, shard: 'a' },
    ]);
  });

  it('builds unique indexes plain under another name, TTL switched off, hidden visible', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    const indexes = clusters.server.databases.get('app')?.collections.get('plain')?.indexes ?? [];
    const byName = new Map(indexes.map((index) => [index.name as string, index]));
    expect([...byName.keys()].sort()).toEqual(['_id_', 'both_plain', 'convoy_temporary_u_1', 'hid', 'legacy', 'ttl']);
    expect(byName.get('convoy_temporary_u_1')).not.toHaveProperty('unique');
    expect(byName.get('ttl')?.expireAfterSeconds).toBe(2_147_483_647);
    expect(byName.get('hid')).not.toHaveProperty('hidden');
    expect(byName.get('legacy')?.key).toEqual({ old: 1, zero: 1 });
  });

  it('says the simple collation of an index in a collection with another', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    const collated = clusters.server.databases.get('app')?.collections.get('collated');
    expect(collated?.options.collation).toEqual({ locale: 'fr' });
    expect(collated?.indexes.find((index) => index.name === 'simple')).not.toHaveProperty('collation');
  });

  it('leaves no zone behind and keeps those of others', async () => {
    const clusters = pair();
    clusters.server.shards[0]?.tags.push('mine');
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    expect(clusters.server.tags).toEqual([]);
    expect(clusters.server.shards.map((shard) => shard.tags)).toEqual([['mine'], []]);
  });

  it('builds only what shard keys need with buildIndexes never', async () => {
    const clusters = pair();
    const { catalog, plan } = await makePlan(clusters, 'never');
    await createCollections({ destination: clusters.destination, plan, signal });
    const made = await readCatalog(clusters.destination, everything, signal);
    const names = made.flatMap((entry) => entry.indexes.map((index) => `${entry.name} ${String(index.name)}`)).filter((name) => !name.endsWith('_id_'));
    expect(names).toEqual(['hashed _id_hashed', 'ranged convoy_temporary_longer', 'uniq by_email']);
    expect(compareCatalogs(catalog, made, { buildIndexes: 'never', destinationVersion: [5, 0, 0], form: 'temporary' })).toEqual([]);
  });

  it('comes to the same end wherever the connection is lost, before or after the effect', async () => {
    const undisturbed = pair();
    const { plan: reference } = await makePlan(undisturbed);
    await createCollections({ destination: undisturbed.destination, plan: reference, signal });
    const commands = undisturbed.server.door.sent.length;
    expect(commands).toBeGreaterThan(30);
    for (let atCommand = 0; atCommand < commands; atCommand += 1) {
      for (const afterEffect of [false, true]) {
        const clusters = pair();
        const { plan } = await makePlan(clusters);
        clusters.server.failure = { atCommand, afterEffect };
        await untilDone(() => createCollections({ destination: clusters.destination, plan, signal }));
        expect(clusters.server.state(), `lost at command ${atCommand}, after its effect: ${afterEffect}`).toEqual(undisturbed.server.state());
      }
    }
  }, 60_000);

  it('takes over an empty collection of the same form and refuses one of another', async () => {
    const clusters = pair();
    clusters.server.add('app.capped', { options: { capped: true, size: 4096 } });
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });

    const other = pair();
    other.server.add('app.capped', { options: { capped: true, size: 8192 } });
    await expect(createCollections({ destination: other.destination, plan: (await makePlan(other)).plan, signal })).rejects.toMatchObject({
      error: 'destinationNotEmpty',
      errorDescription: expect.stringContaining('app.capped') as string,
    });
  });

  it('does not shard a collection that already holds documents', async () => {
    const clusters = pair();
    clusters.server.add('app.ranged', { documents: [{ _id: 1 }] });
    await expect(createCollections({ destination: clusters.destination, plan: (await makePlan(clusters)).plan, signal })).rejects.toMatchObject({
      error: 'destinationNotEmpty',
    });
  });
});

describe('restoreAttributes', () => {
  it.each([4, 5, 6] as const)('brings every index into its final form on version %i', async (version) => {
    const clusters = pair(version);
    const { catalog, plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    await restoreAttributes({ destination: clusters.destination, plan, signal });
    const made = await readCatalog(clusters.destination, everything, signal);
    const options = { buildIndexes: 'beforeDataCopy', destinationVersion: clusters.destination.version, form: 'final' } as const;
    expect(compareCatalogs(catalog, made, options)).toEqual([]);
  });

  it('sends no change when repeated after the end', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    await restoreAttributes({ destination: clusters.destination, plan, signal });
    const before = clusters.server.door.sent.length;
    await restoreAttributes({ destination: clusters.destination, plan, signal });
    const again = clusters.server.door.sent.slice(before).map(({ command }) => Object.keys(command)[0]);
    expect(new Set(again)).toEqual(new Set(['listIndexes']));
  });

  it.each([4, 5, 6] as const)('comes to the same end wherever the connection is lost on version %i', async (version) => {
    const undisturbed = pair(version);
    const { plan: reference } = await makePlan(undisturbed);
    await createCollections({ destination: undisturbed.destination, plan: reference, signal });
    const before = undisturbed.server.door.sent.length;
    await restoreAttributes({ destination: undisturbed.destination, plan: reference, signal });
    const commands = undisturbed.server.door.sent.length - before;
    for (let atCommand = 0; atCommand < commands; atCommand += 1) {
      for (const afterEffect of [false, true]) {
        const clusters = pair(version);
        const { plan } = await makePlan(clusters);
        await createCollections({ destination: clusters.destination, plan, signal });
        clusters.server.failure = { atCommand, afterEffect };
        await untilDone(() => restoreAttributes({ destination: clusters.destination, plan, signal }));
        expect(clusters.server.state(), `lost at command ${atCommand}, after its effect: ${afterEffect}`).toEqual(undisturbed.server.state());
      }
    }
  }, 60_000);

  it.each([4, 5, 6] as const)('names namespace and index of a violation, and nothing else, on version %i', async (version) => {
    const clusters = pair(version);
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    clusters.server.violating.add('app.plain');
    await expect(restoreAttributes({ destination: clusters.destination, plan, signal })).rejects.toMatchObject({
      error: 'uniqueIndexViolated',
      errorDescription: 'Documents of app.plain on the destination violate the unique index u_1.',
    });
  });

  it('does not switch a TTL on while a unique index is violated', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, plan, signal });
    clusters.server.violating.add('app.ranged');
    await expect(restoreAttributes({ destination: clusters.destination, plan, signal })).rejects.toMatchObject({ error: 'uniqueIndexViolated' });
    const ttl = clusters.server.databases.get('app')?.collections.get('plain')?.indexes.find((index) => index.name === 'ttl');
    expect(ttl?.expireAfterSeconds).toBe(2_147_483_647);
  });
});
