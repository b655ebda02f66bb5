import { describe, expect, it } from 'vitest';
import { compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { createCollection, createCollections } from '../../../src/catalog/create-collections.js';
import { type CatalogEntry, namespaceOf } from '../../../src/catalog/namespace.js';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import { definitionOf, type SkippedIndex } from '../../../src/catalog/index-plan.js';
import { restoreAttributes, UniqueIndexViolated } from '../../../src/catalog/index-attributes.js';
import { readCatalog } from '../../../src/catalog/read-catalog.js';
import { only } from '../../../../../test/only.js';
import { fakeCluster, serverError } from '../fake-node-client.js';
import { everything, high, isChange, low, makePlan, pair, untilDone } from './catalog-pair.js';
import { FakeCatalogServer } from './fake-catalog-server.js';
import { boundsOf } from './as-read.js';
import { MongoServerError } from 'mongodb';
import type { NodeClient } from '../../../src/cluster/node-client.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const { signal } = new AbortController();
const confirm = (): Promise<void> => Promise.resolve();
describe('createCollections', () => {
  it('creates everything in its temporary form, on the same shards as on the source', async () => {
    const clusters = pair();
    const { catalog, plan } = await makePlan(clusters);
    const created = await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    const made = await readCatalog(clusters.destination, everything, signal);
    const comparison = { indexScope: 'all', remap: noRemap, destination: clusters.destination } as const;
    expect(compareCatalogs(catalog, made, { ...comparison, form: 'temporary' })).toEqual([]);
    expect(created.map((row) => row.destinationUuid)).toEqual(made.map((entry) => entry.uuid));
    expect(created.map((row) => row.sourceUuid)).toEqual(catalog.map((entry) => entry.uuid));
    expect(made.find((entry) => entry.name === 'ranged')?.sharding?.chunks.map(boundsOf)).toEqual([
      { min: { sk: low }, max: { sk: 0 }, shard: 'b' },
      { min: { sk: 0 }, max: { sk: high }, shard: 'a' },
    ]);
  });

  it('builds unique indexes plain under another name, TTL disabled, hidden visible', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    const indexes = clusters.server.databases.get('app')?.collections.get('plain')?.indexes ?? [];
    const byName = new Map(indexes.map((index) => [index.name as string, index]));
    expect([...byName.keys()].sort()).toEqual(['_id_', 'both_plain', 'convoy_temporary_u_1', 'hid', 'legacy', 'ttl']);
    expect(byName.get('convoy_temporary_u_1')).not.toHaveProperty('unique');
    expect(byName.get('ttl')?.expireAfterSeconds).toBe(2_147_483_647);
    expect(byName.get('hid')).not.toHaveProperty('hidden');
    expect(byName.get('legacy')?.key).toEqual({ old: 1, zero: 1 });
  });

  it.each([
    ['create', 'app.plain'],
    ['shardCollection', 'app.ranged'],
  ])('names the collection that a destination refuses with %s, and what to do', async (refused, namespace) => {
    const clusters = pair(5);
    const { plan } = await makePlan(clusters);
    const { router } = clusters.destination;
    const choosy = only<NodeClient>({
      openCursor: (...call) => router.openCursor(...call),
      command: (database, command, options) => {
        const name = String(command[refused]);
        const isRefused = [name, `${database}.${name}`].includes(namespace);
        return isRefused ? Promise.reject(serverError(121, 'Refused')) : router.command(database, command, options);
      },
    });
    const destination = { ...clusters.destination, router: choosy };
    await expect(createCollections({ destination, signal, confirm }, plan)).rejects.toMatchObject({
      error: 'collectionNotSupported',
      errorDescription:
        `The destination refuses the collection ${namespace}: Refused (121). Correct its options on the source, or ` +
        'exclude it.',
    });
  });

  it('keeps storage options, or warns where the destination refuses them and has the collection without', async () => {
    const storage = { storageEngine: { rocksdb: {} } };
    const warned: string[] = [];
    for (const refuses of [false, true]) {
      const clusters = pair();
      const { plan } = await makePlan(clusters);
      const collections = plan.collections.map((one) => (one.entry.name === 'plain' ? { ...one, storage } : one));
      const { router } = clusters.destination;
      const choosy: NodeClient = {
        label: router.label,
        openCursor: (...call) => router.openCursor(...call),
        write: (...call) => router.write(...call),
        close: () => router.close(),
        command: (database, command, options) =>
          refuses && command['storageEngine'] !== undefined
            ? Promise.reject(new MongoServerError({ code: 72, errmsg: 'no such engine' }))
            : router.command(database, command, options),
      };
      const destination = { ...clusters.destination, router: choosy };
      const onWarning = ({ description }: { description: string }): void => void warned.push(description);
      await createCollections({ destination, signal, confirm, onWarning }, { ...plan, collections });
      const made = clusters.server.databases.get('app')?.collections.get('plain');
      expect(made?.options.storageEngine).toEqual(refuses ? undefined : storage.storageEngine);
    }
    expect(warned).toEqual([expect.stringMatching(/app\.plain without storageEngine: the destination refuses them/)]);
  });

  it('refuses a time series whose name another collection has taken meanwhile', async () => {
    const server = new FakeCatalogServer(['a']);
    const destination = fakeCluster({ router: server.client, kind: 'replicaSet', version: [8, 0, 0], shardIds: ['a'] });
    const entry: CatalogEntry = {
      database: 'app',
      name: 'system.buckets.s',
      type: 'collection',
      uuid: '0c',
      options: { timeseries: { timeField: 'at' } },
      indexes: [],
      sharding: null,
      primaryShard: 'a',
      sizeBytes: 0,
      documentCount: 0,
    };
    const [plan] = planDestination([entry], {
      source: { shardIds: ['a'] },
      destination,
      indexScope: 'all',
      remap: noRemap,
    }).collections;
    if (plan === undefined) throw new Error('nothing was planned');
    server.add('app.s');
    await expect(createCollection({ destination, signal, confirm }, plan)).rejects.toMatchObject({
      error: 'destinationNotEmpty',
      errorDescription: expect.stringContaining('app.s, which is no time series as on the source') as unknown,
    });
  });

  it('specifies the simple collation of an index in a collection with another', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    const collated = clusters.server.databases.get('app')?.collections.get('collated');
    expect(collated?.options.collation).toEqual({ locale: 'fr' });
    expect(collated?.indexes.find((index) => index.name === 'simple')).not.toHaveProperty('collation');
  });

  it('leaves no zone behind, and keeps other zones', async () => {
    const clusters = pair();
    clusters.server.shards[0]?.tags.push('mine');
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    expect(clusters.server.tags).toEqual([]);
    expect(clusters.server.shards.map((shard) => shard.tags)).toEqual([['mine'], []]);
  });

  it('builds only what shard keys need with buildIndexes never', async () => {
    const clusters = pair();
    const { catalog, plan } = await makePlan(clusters, 'shardKey');
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    const made = await readCatalog(clusters.destination, everything, signal);
    const names = made
      .flatMap((entry) => entry.indexes.map((index) => `${entry.name} ${String(index.name)}`))
      .filter((name) => !name.endsWith('_id_'));
    expect(names).toEqual(['hashed _id_hashed', 'ranged convoy_temporary_longer', 'uniq by_email']);
    expect(
      compareCatalogs(catalog, made, {
        indexScope: 'shardKey',
        remap: noRemap,
        destination: { kind: 'sharded', version: [5, 0, 0] },
        form: 'temporary',
      }),
    ).toEqual([]);
  });

  it('reaches the same result wherever the connection is lost, before or after the effect', async () => {
    const undisturbed = pair();
    const { plan: reference } = await makePlan(undisturbed);
    await createCollections({ destination: undisturbed.destination, signal, confirm }, reference);
    const commands = undisturbed.server.client.sent.length;
    expect(commands).toBeGreaterThan(30);
    for (let atCommand = 0; atCommand < commands; atCommand += 1) {
      for (const afterEffect of [false, true]) {
        const clusters = pair();
        const { plan } = await makePlan(clusters);
        clusters.server.failure = { atCommand, afterEffect };
        await untilDone(() => createCollections({ destination: clusters.destination, signal, confirm }, plan));
        expect(clusters.server.state(), `lost at command ${atCommand}, after its effect: ${afterEffect}`).toEqual(
          undisturbed.server.state(),
        );
      }
    }
  }, 60_000);

  it('reuses an empty collection of the same form, and refuses a different one', async () => {
    const clusters = pair();
    clusters.server.add('app.capped', { options: { capped: true, size: 4096 } });
    const there = clusters.server.databases.get('app')?.collections.get('capped');
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    expect(clusters.server.databases.get('app')?.collections.get('capped')).toBe(there);

    const other = pair();
    other.server.add('app.capped', { options: { capped: true, size: 8192 } });
    await expect(
      createCollections({ destination: other.destination, signal, confirm }, (await makePlan(other)).plan),
    ).rejects.toMatchObject({
      error: 'destinationNotEmpty',
      errorDescription: expect.stringContaining('app.capped') as string,
    });
  });

  it('does not shard a collection that already holds documents', async () => {
    const clusters = pair();
    clusters.server.add('app.ranged', { documents: [{ _id: 1 }] });
    await expect(
      createCollections({ destination: clusters.destination, signal, confirm }, (await makePlan(clusters)).plan),
    ).rejects.toMatchObject({
      error: 'destinationNotEmpty',
    });
  });
});

describe('a replaced leader', () => {
  it('creates nothing, and leaves a TTL index enabled that was enabled since', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    await restoreAttributes({ destination: clusters.destination, signal, confirm }, plan);
    clusters.server.databases.get('app')?.collections.delete('capped');
    const before = clusters.server.state();
    const replaced = new Error('replaced');
    const outcomes = plan.collections.map((one) =>
      createCollection(
        { destination: clusters.destination, signal, confirm: () => Promise.reject(replaced) },
        one,
      ).catch((error: unknown) => error),
    );
    expect(await Promise.all(outcomes)).toContain(replaced);
    expect(clusters.server.state()).toEqual(before);
  });
});

describe('restoreAttributes', () => {
  it.each([4, 5, 6] as const)(
    'leaves indexes plain that documents violate, if they are skipped, on %i',
    async (version) => {
      const clusters = pair(version);
      const { catalog, plan } = await makePlan(clusters);
      const { destination, server } = clusters;
      await createCollections({ destination, signal, confirm }, plan);
      server.violating.add('app.plain');
      const making = { destination, signal, confirm };
      const violated: unknown = await restoreAttributes(making, plan).catch((error: unknown) => error);
      expect(violated).toBeInstanceOf(UniqueIndexViolated);
      const skipped = (violated as UniqueIndexViolated).violations.map(({ namespace, index }): SkippedIndex => {
        const collection = plan.collections.find(({ entry }) => namespaceOf(entry) === namespace);
        const final = collection?.indexes.find((one) => one.final.name === index)?.final ?? {};
        const uuid = collection?.entry.uuid ?? '';
        const failure = 'DuplicateKey (11000)';
        return { uuid, namespace, index, definition: definitionOf(final), outcome: 'notUnique', unique: true, failure };
      });
      expect(skipped.map(({ index }) => index)).toEqual(['u_1', 'both_unique']);
      const comparison = { indexScope: 'all', skipped, remap: noRemap, destination } as const;
      for (let repetition = 0; repetition < 2; repetition += 1) {
        await restoreAttributes(making, planDestination(catalog, { ...comparison, source: clusters.source }));
        const made = await readCatalog(destination, everything, signal);
        expect(compareCatalogs(catalog, made, { ...comparison, form: 'final' })).toEqual([]);
        const there = made
          .find(({ name }) => name === 'plain')
          ?.indexes.map(({ name, unique }) => [name, unique] as unknown);
        expect(there).toContainEqual(['u_1', undefined]);
        expect(there).toContainEqual(['both_plain', undefined]);
      }
    },
  );

  it.each([4, 5, 6] as const)(
    'converts unique indexes of a collection with as many as it can have, on %i',
    async (version) => {
      const source = new FakeCatalogServer(['shard0', 'shard1']);
      const many = Array.from({ length: 61 }, (_, n) => ({ v: 2, key: { [`f${n}`]: 1 }, name: `f${n}` }));
      const unique = ['a', 'b'].map((field) => ({ v: 2, key: { [field]: 1 }, name: field, unique: true }));
      source.add('app.full', { indexes: [...many, ...unique] });
      const clusters = { ...pair(version), source: fakeCluster({ router: source.client }) };
      const { destination } = clusters;
      const { catalog, plan } = await makePlan(clusters);
      await createCollections({ destination, signal, confirm }, plan);
      await restoreAttributes({ destination, signal, confirm }, plan);
      const made = await readCatalog(destination, everything, signal);
      const options = { indexScope: 'all', remap: noRemap, destination, form: 'final' } as const;
      expect(compareCatalogs(catalog, made, options)).toEqual([]);
    },
  );

  it.each([4, 5, 6] as const)('converts every index to its final form on version %i', async (version) => {
    const clusters = pair(version);
    const { catalog, plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    await restoreAttributes({ destination: clusters.destination, signal, confirm }, plan);
    const made = await readCatalog(clusters.destination, everything, signal);
    const options = {
      indexScope: 'all',
      remap: noRemap,
      destination: clusters.destination,
      form: 'final',
    } as const;
    expect(compareCatalogs(catalog, made, options)).toEqual([]);
  });

  it.each([4, 5, 6] as const)(
    'confirms before every change, and changes nothing once refused, on version %i',
    async (version) => {
      for (let allowed = 0; ; allowed += 1) {
        const clusters = pair(version);
        const { plan } = await makePlan(clusters);
        await createCollections({ destination: clusters.destination, signal, confirm }, plan);
        const before = clusters.server.client.sent.length;
        let asked = 0;
        const replaced = new Error('replaced');
        const confirmAllowed = (): Promise<void> => (++asked > allowed ? Promise.reject(replaced) : Promise.resolve());
        const making = { destination: clusters.destination, signal, confirm: confirmAllowed };
        const outcome = await restoreAttributes(making, plan).catch((error: unknown) => error);
        const changes = clusters.server.client.sent.slice(before).filter(({ command }) => isChange(command));
        expect(changes.length).toBe(Math.min(asked, allowed));
        if (outcome === undefined) return;
        expect(outcome).toBe(replaced);
      }
    },
  );

  it('sends no change if repeated after the end', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    await restoreAttributes({ destination: clusters.destination, signal, confirm }, plan);
    const before = clusters.server.client.sent.length;
    await restoreAttributes({ destination: clusters.destination, signal, confirm }, plan);
    const again = clusters.server.client.sent.slice(before).map(({ command }) => command);
    expect(again.length).toBeGreaterThan(0);
    expect(again.filter(isChange)).toEqual([]);
  });

  it.each([4, 5, 6] as const)(
    'reaches the same result wherever the connection is lost on version %i',
    async (version) => {
      const undisturbed = pair(version);
      const { plan: reference } = await makePlan(undisturbed);
      await createCollections({ destination: undisturbed.destination, signal, confirm }, reference);
      const before = undisturbed.server.client.sent.length;
      await restoreAttributes({ destination: undisturbed.destination, signal, confirm }, reference);
      const commands = undisturbed.server.client.sent.length - before;
      for (let atCommand = 0; atCommand < commands; atCommand += 1) {
        for (const afterEffect of [false, true]) {
          const clusters = pair(version);
          const { plan } = await makePlan(clusters);
          await createCollections({ destination: clusters.destination, signal, confirm }, plan);
          clusters.server.failure = { atCommand, afterEffect };
          await untilDone(() => restoreAttributes({ destination: clusters.destination, signal, confirm }, plan));
          expect(clusters.server.state(), `lost at command ${atCommand}, after its effect: ${afterEffect}`).toEqual(
            undisturbed.server.state(),
          );
        }
      }
    },
    60_000,
  );

  it.each([4, 5, 6] as const)(
    'names namespace and index of every violation, and nothing else, on version %i',
    async (version) => {
      const clusters = pair(version);
      const { plan } = await makePlan(clusters);
      await createCollections({ destination: clusters.destination, signal, confirm }, plan);
      clusters.server.violating.add('app.plain');
      await expect(
        restoreAttributes({ destination: clusters.destination, signal, confirm }, plan),
      ).rejects.toMatchObject({
        error: 'uniqueIndexViolated',
        errorDescription:
          'Documents of app.plain on the destination violate the unique index u_1. Documents of app.plain on the ' +
          'destination violate the unique index both_unique.',
      });
    },
  );

  it('does not enable a TTL while documents violate a unique index', async () => {
    const clusters = pair();
    const { plan } = await makePlan(clusters);
    await createCollections({ destination: clusters.destination, signal, confirm }, plan);
    clusters.server.violating.add('app.ranged');
    await expect(restoreAttributes({ destination: clusters.destination, signal, confirm }, plan)).rejects.toMatchObject(
      { error: 'uniqueIndexViolated' },
    );
    const ttl = clusters.server.databases
      .get('app')
      ?.collections.get('plain')
      ?.indexes.find((index) => index.name === 'ttl');
    expect(ttl?.expireAfterSeconds).toBe(2_147_483_647);
  });
});
