import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { buildIndexes } from '../../../../src/catalog/make/build-indexes.js';
import { deferAttributes } from '../../../../src/catalog/make/defer-attributes.js';
import { restoreAttributes } from '../../../../src/catalog/make/restore-attributes.js';
import { UniqueIndexViolated } from '../../../../src/catalog/unique-violation.js';
import type { Version } from '../../../../src/cluster/node-client.js';
import { serverError } from '../../fake-node-client.js';
import { never } from '../../model/parts.js';
import { TwoShards } from './two-shards.js';

const confirm = (): Promise<void> => Promise.resolve();
const unique = { v: 2, key: { u: 1 }, name: 'u_1', unique: true };
const ttl = { v: 2, key: { t: 1 }, name: 't_1', expireAfterSeconds: 60, hidden: true };

/** A destination right before the commit, and the steps of a commit and of a reverse. */
async function migrated(version: Version) {
  const shards = new TwoShards(version);
  const plan = shards.planOf([unique, ttl]);
  const wanted = plan.indexes.flatMap(({ temporary }) => (temporary === null ? [] : [temporary]));
  await buildIndexes({ client: shards.cluster.router, signal: never, confirm }, plan, wanted);
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
