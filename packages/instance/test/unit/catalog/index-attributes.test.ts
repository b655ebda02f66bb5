import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { buildMissing } from '../../../src/catalog/build-indexes.js';
import { compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { createCollections } from '../../../src/catalog/create-collections.js';
import { deferAttributes, restoreAttributes, UniqueIndexViolated } from '../../../src/catalog/index-attributes.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import { readCatalog } from '../../../src/catalog/read-catalog.js';
import type { Version } from '../../../src/cluster/node-client.js';
import { serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';
import { everything, isChange, makePlan, pair, type Pair, untilDone } from './catalog-pair.js';
import { TwoShards } from './two-shards.js';

const confirm = (): Promise<void> => Promise.resolve();
const unique = { v: 2, key: { u: 1 }, name: 'u_1', unique: true };
const ttl = { v: 2, key: { t: 1 }, name: 't_1', expireAfterSeconds: 60, hidden: true };

/** A destination right before the commit, and the steps of a commit and of a reverse. */
async function migrated(version: Version) {
  const shards = new TwoShards(version);
  const plan = shards.planOf([unique, ttl]);
  const wanted = plan.indexes.flatMap(({ temporary }) => (temporary === null ? [] : [temporary]));
  await buildMissing({ client: shards.cluster.router, signal: never, confirm }, plan, wanted);
  const making = { destination: shards.cluster, signal: never, confirm };
  const plans = { databases: new Map(), collections: [plan], warnings: [] };
  return {
    shards,
    restore: () => restoreAttributes(making, plans),
    defer: () => deferAttributes(making, plans),
  };
}

const byName = (list: readonly Document[]): unknown => new Map(list.map((index) => [index.name, index]));

it.each([
  ['createIndexes', [5, 0, 7]],
  ['dropIndexes', [5, 0, 7]],
  ['collMod', [5, 0, 7]],
  ['collMod', [7, 0, 0]],
] as const)('what one shard refused is done there by the next attempt (%s, %j)', async (refused, version) => {
  const { shards, restore, defer } = await migrated(version);
  shards.refused = refused;
  await expect(restore()).rejects.toMatchObject({ code: 10_107 });
  await restore();
  expect(shards.names).toEqual([expect.arrayContaining(['u_1', 't_1']), expect.arrayContaining(['u_1', 't_1'])]);
  expect(byName(shards.indexes.b)).toEqual(byName([{ v: 2, key: { _id: 1 }, name: '_id_' }, unique, ttl]));
  expect(byName(shards.indexes.a)).toEqual(byName(shards.indexes.b));
  if (version[0] < 6) return;
  shards.refused = refused;
  await expect(defer()).rejects.toMatchObject({ code: 10_107 });
  await defer();
  expect(byName(shards.indexes.b)).toMatchObject(byName(shards.indexes.a) as Document);
  await restore();
  expect(byName(shards.indexes.b)).toEqual(byName([{ v: 2, key: { _id: 1 }, name: '_id_' }, unique, ttl]));
});

it('what one shard made unique is taken back if another one could not, if users see those of one', async () => {
  const { shards, restore } = await migrated([5, 0, 7]);
  shards.statsFailure = serverError(13, 'Unauthorized');
  shards.refused = 'createIndexes';
  shards.refusal = serverError(11_000, 'DuplicateKey');
  await expect(restore()).rejects.toBeInstanceOf(UniqueIndexViolated);
  expect(shards.names.flat()).not.toContain('u_1');
  await restore();
  expect(shards.names).toEqual([expect.arrayContaining(['u_1', 't_1']), expect.arrayContaining(['u_1', 't_1'])]);
});

it.each([
  ['the plain one', {}],
  ['the prepared one', { prepareUnique: true }],
  ['the unique one', { unique: true }],
] as const)(
  'an index that one shard has lost is built there and made unique on all: beside %s',
  async (_, attributes) => {
    for (const lost of ['a', 'b'] as const) {
      const { shards, restore } = await migrated([8, 0, 10]);
      for (const [name, list] of Object.entries(shards.indexes)) {
        const at = list.findIndex((index) => index.name === 'u_1');
        if (name === lost) list.splice(at, 1);
        else Object.assign(list[at] ?? {}, attributes);
      }
      await restore();
      expect(byName(shards.indexes.a)).toEqual(byName([{ v: 2, key: { _id: 1 }, name: '_id_' }, unique, ttl]));
      expect(byName(shards.indexes.b)).toEqual(byName(shards.indexes.a));
    }
  },
);

it('an index that the shard key needs stays visible where the server insists; no other refusal passes', async () => {
  const { shards, restore } = await migrated([8, 0, 10]);
  shards.refusal = serverError(72, 'InvalidOptions');
  shards.refusedChange = 'hidden';
  await restore();
  expect(shards.indexes.a.find(({ name }) => name === 't_1')).toMatchObject({ expireAfterSeconds: 60 });
  shards.indexes.a = shards.indexes.a.map((index) =>
    index.name === 't_1' ? { ...index, expireAfterSeconds: 9 } : index,
  );
  shards.refusedChange = 'expireAfterSeconds';
  await expect(restore()).rejects.toMatchObject({ code: 72 });
});

const { signal } = new AbortController();
const form = { indexScope: 'all', remap: noRemap, destination: { kind: 'sharded', version: [6, 0, 0] } } as const;

type Plan = Awaited<ReturnType<typeof makePlan>>;

/** A destination after a commit. */
async function committed(): Promise<{ clusters: Pair } & Plan> {
  const clusters = pair(6);
  const planned = await makePlan(clusters);
  await createCollections({ destination: clusters.destination, signal, confirm }, planned.plan);
  await restoreAttributes({ destination: clusters.destination, signal, confirm }, planned.plan);
  return { clusters, ...planned };
}

/** Names of the indexes of a collection. */
function indexNames({ server }: Pair, collection: string): string[] {
  return (server.databases.get('app')?.collections.get(collection)?.indexes ?? [])
    .map((index) => String(index.name))
    .sort();
}

describe('deferAttributes', () => {
  it('converts every index from its final form to its temporary form, and restoring reverts that', async () => {
    const { clusters, catalog, plan } = await committed();
    await deferAttributes({ destination: clusters.destination, signal, confirm }, plan);
    expect(
      compareCatalogs(catalog, await readCatalog(clusters.destination, everything, signal), {
        ...form,
        form: 'temporary',
      }),
    ).toEqual([]);
    await restoreAttributes({ destination: clusters.destination, signal, confirm }, plan);
    expect(
      compareCatalogs(catalog, await readCatalog(clusters.destination, everything, signal), { ...form, form: 'final' }),
    ).toEqual([]);
  });

  it('never leaves a shard key without a supporting index, and leaves no extra index', async () => {
    const { clusters, plan } = await committed();
    const before = clusters.server.client.sent.length;
    await deferAttributes({ destination: clusters.destination, signal, confirm }, plan);
    const changes = clusters.server.client.sent.slice(before).map(({ command }) => command);
    const ofRanged = changes.filter((command) => [command.createIndexes, command.dropIndexes].includes('ranged'));
    const created = (index: unknown): unknown => (index as { name: string }[]).map(({ name }) => name);
    expect(
      ofRanged.map((command) =>
        command.createIndexes === undefined ? ['drop', command.index as unknown] : ['create', created(command.indexes)],
      ),
    ).toEqual([
      ['create', ['convoy_temporary_shard_key']],
      ['drop', 'longer'],
      ['create', ['longer']],
      ['drop', 'convoy_temporary_shard_key'],
    ]);
    expect(indexNames(clusters, 'ranged')).toEqual(['_id_', 'longer']);
    // A unique index on exactly the shard key must stay unchanged.
    expect(changes.filter((command) => [command.createIndexes, command.dropIndexes].includes('uniq'))).toEqual([]);
  });

  it('reaches the same result wherever the connection is lost, before or after the effect', async () => {
    const undisturbed = await committed();
    const before = undisturbed.clusters.server.client.sent.length;
    await deferAttributes({ destination: undisturbed.clusters.destination, signal, confirm }, undisturbed.plan);
    const commands = undisturbed.clusters.server.client.sent.length - before;
    expect(commands).toBeGreaterThan(15);
    for (let atCommand = 0; atCommand < commands; atCommand += 1) {
      for (const afterEffect of [false, true]) {
        const { clusters, plan } = await committed();
        clusters.server.failure = { atCommand, afterEffect };
        await untilDone(() => deferAttributes({ destination: clusters.destination, signal, confirm }, plan));
        expect(clusters.server.state(), `lost at command ${atCommand}, after its effect: ${afterEffect}`).toEqual(
          undisturbed.clusters.server.state(),
        );
      }
    }
  }, 60_000);

  it('confirms before every change, and changes nothing once refused', async () => {
    for (let allowed = 0; ; allowed += 1) {
      const { clusters, plan } = await committed();
      const before = clusters.server.client.sent.length;
      let asked = 0;
      const replaced = new Error('replaced');
      const confirmAllowed = (): Promise<void> => (++asked > allowed ? Promise.reject(replaced) : Promise.resolve());
      const making = { destination: clusters.destination, signal, confirm: confirmAllowed };
      const outcome = await deferAttributes(making, plan).catch((error: unknown) => error);
      const changes = clusters.server.client.sent.slice(before).filter(({ command }) => isChange(command));
      // Building a TTL index is one change in two commands: the second disables it.
      const switchedOff = changes.filter(
        (_, at) =>
          at > 0 && 'createIndexes' in (changes[at - 1]?.command ?? {}) && 'collMod' in (changes[at]?.command ?? {}),
      );
      expect(changes.length - switchedOff.length).toBeLessThanOrEqual(Math.min(asked, allowed));
      if (outcome === undefined) return;
      expect(outcome).toBe(replaced);
    }
  });
});
