import type { Document } from 'mongodb';
import { codeIn, expectDone, expectRefused, expectSame, expectThat } from '../framework/expectation.js';
import type { Fixture } from '../framework/fixture.js';
import type { Probe } from '../framework/probe.js';

const corpus = 'corpus 15-attributes';

/** Two documents that no unique index over `u` accepts. */
const duplicates: readonly Document[] = [
  { _id: 1, u: 1 },
  { _id: 2, u: 1 },
];
const plain = { key: { u: 1 }, name: 'u_1' };

/** The greatest value, which servers treat as never. */
const never = 2_147_483_647;

async function index(fixture: Fixture, collection: string, name: string): Promise<Document | undefined> {
  return (await fixture.rows({ listIndexes: collection })).find((one) => one.name === name);
}

/** Chunks of a sharded collection, in the order of their bounds. */
function chunksOf(fixture: Fixture, entry: Document | undefined, filter: Document): Promise<Document[]> {
  const find = { find: 'chunks', filter: { uuid: entry?.uuid as unknown, ...filter }, sort: { min: 1 } };
  return fixture.rows(find, fixture.front, 'config');
}

/** What definitions may contain, and what repeated commands answer. */
export const catalogs: readonly Probe[] = [
  {
    name: 'repeated-definitions',
    sentence:
      'Servers report a repeated definition as such: a create by NamespaceExists (48), or as a success if it is the ' +
      'same. They report a repeated index as a success, and a repeated drop by NamespaceNotFound (26) or as a success.',
    source: 'corpus 02-catalog',
    otherwise: 'A step that is repeated after a crash may end the migration.',
    async run(fixture) {
      const name = await fixture.collection([], { capped: true, size: 65_536 });
      expectRefused('another collection of the name', await fixture.ask({ create: name }), 48);
      const indexes = [{ key: { a: 1 }, name: 'a_1' }];
      await fixture.done({ createIndexes: name, indexes });
      expectDone('the same index', await fixture.ask({ createIndexes: name, indexes }));
      const reply = await fixture.ask({ drop: fixture.newName() });
      expectThat('a drop of nothing is done or 26', [0, 26].includes(codeIn(reply)), codeIn(reply));
    },
  },
  {
    name: 'rename-onto-itself-is-refused',
    sentence: 'Renaming a collection to its own name is refused with IllegalOperation (20).',
    source: 'measured on 5.0.7',
    otherwise: 'A repeated rename may not be recognised as done.',
    async run(fixture) {
      const namespace = `${fixture.db}.${await fixture.collection([{ _id: 1 }])}`;
      expectRefused(
        'the rename',
        await fixture.ask({ renameCollection: namespace, to: namespace }, fixture.front, 'admin'),
        20,
      );
    },
  },
  {
    name: 'unique-beside-plain',
    sentence: 'A unique index can be built beside a plain one on the same key if its name differs.',
    source: corpus,
    otherwise: 'The commit cannot restore unique indexes.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, u: 1 }]);
      await fixture.index(name, { key: { u: 1 }, name: 'temporary' });
      expectDone('the unique index', await fixture.ask({ createIndexes: name, indexes: [{ ...plain, unique: true }] }));
      expectRefused('a duplicate', await fixture.ask({ insert: name, documents: [{ _id: 2, u: 1 }] }), 11_000);
    },
  },
  {
    name: 'unique-over-duplicates-is-refused',
    sentence:
      'A unique index over documents with equal keys is refused with DuplicateKey (11000), and leaves nothing behind.',
    source: corpus,
    otherwise: 'The commit may not find duplicates.',
    async run(fixture) {
      const name = await fixture.collection(duplicates);
      expectRefused(
        'the index',
        await fixture.ask({ createIndexes: name, indexes: [{ ...plain, unique: true }] }),
        11_000,
      );
      expectSame('the index that is listed', await index(fixture, name, 'u_1'), undefined);
    },
  },
  {
    name: 'convert-to-unique',
    sentence:
      'collMod makes an index unique by prepareUnique and unique, and refuses duplicates with ' +
      'CannotConvertIndexToUnique (359) and their _ids.',
    from: [6, 0, 0],
    source: 'manual: collMod',
    otherwise: 'The commit cannot restore unique indexes.',
    async run(fixture) {
      const name = await fixture.collection(duplicates);
      await fixture.index(name, plain);
      await fixture.done({ collMod: name, index: { name: 'u_1', prepareUnique: true } });
      const refused = await fixture.ask({ collMod: name, index: { name: 'u_1', unique: true } });
      expectRefused('the conversion', refused, 359);
      const reported = (refused.violations ??
        Object.values((refused.raw ?? {}) as Document).flatMap(({ violations }) => violations as unknown)) as {
        ids: unknown[];
      }[];
      expectSame(
        'the _ids',
        reported.flatMap(({ ids }) => ids),
        [1, 2],
      );
      await fixture.remove(name, { _id: 2 });
      expectDone(
        'the conversion afterwards',
        await fixture.ask({ collMod: name, index: { name: 'u_1', unique: true } }),
      );
    },
  },
  {
    name: 'ttl-is-switched-off-and-on',
    sentence: 'collMod sets the time of a TTL index to 2,147,483,647 seconds and back.',
    source: corpus,
    otherwise: 'Documents may expire on the destination before the commit.',
    async run(fixture) {
      const name = await fixture.collection();
      await fixture.index(name, { key: { at: 1 }, name: 'at_1', expireAfterSeconds: 3_600 });
      for (const expireAfterSeconds of [never, 3_600]) {
        expectDone('collMod', await fixture.ask({ collMod: name, index: { name: 'at_1', expireAfterSeconds } }));
        expectSame('what is listed', (await index(fixture, name, 'at_1'))?.expireAfterSeconds, expireAfterSeconds);
      }
    },
  },
  {
    name: 'hidden-indexes',
    sentence: 'collMod hides and shows an index, and listIndexes reports it.',
    source: corpus,
    otherwise: 'Hidden indexes may be visible after the commit.',
    async run(fixture) {
      const name = await fixture.collection();
      await fixture.index(name, { key: { a: 1 }, name: 'a_1' });
      for (const hidden of [true, false]) {
        expectDone('collMod', await fixture.ask({ collMod: name, index: { name: 'a_1', hidden } }));
        expectSame('what is listed', (await index(fixture, name, 'a_1'))?.hidden ?? false, hidden);
      }
    },
  },
  {
    name: 'capped-sizes-are-changed',
    sentence: 'collMod changes the size of a capped collection from 6.0 on, and refuses it before.',
    source: `${corpus}; manual: collMod`,
    otherwise: 'Capped collections may have another size after the commit.',
    async run(fixture) {
      const name = await fixture.collection([], { capped: true, size: 65_536 });
      const reply = await fixture.ask({ collMod: name, cappedSize: 131_072 });
      if (fixture.isAtLeast(6, 0, 0)) expectDone('collMod', reply);
      else expectThat('collMod is refused', codeIn(reply) !== 0, codeIn(reply));
    },
  },
  {
    name: 'ranges-in-the-config-database',
    sentence:
      'config.collections has key and UUID of a sharded collection, and config.chunks its ranges by that UUID, ' +
      'without gaps from MinKey to MaxKey.',
    needs: ['twoShards'],
    source: 'corpus 02-catalog',
    otherwise: 'Convoy cannot determine which shard owns a document.',
    async run(fixture) {
      const name = await fixture.split();
      const entry = await fixture.sharding(name);
      expectSame('the key', entry?.key, { sk: 1 });
      const chunks = await chunksOf(fixture, entry, {});
      expectSame(
        'the ranges',
        chunks.map(({ min, max, shard }) => [min, max, shard] as unknown),
        [
          [{ sk: { $minKey: 1 } }, { sk: 0 }, fixture.shardIds[0]],
          [{ sk: 0 }, { sk: { $maxKey: 1 } }, fixture.shardIds[1]],
        ],
      );
    },
  },
  {
    name: 'moves-raise-versions',
    sentence: 'A chunk that moves gets a version with a higher major number, and its new shard.',
    needs: ['twoShards'],
    source: 'corpus 18-found-sharding',
    otherwise: 'Chunks that moved there and back may go unnoticed.',
    async run(fixture) {
      const name = await fixture.ownSplit();
      const chunk = async (): Promise<Document> => {
        const [found] = await chunksOf(fixture, await fixture.sharding(name), { 'min.sk': -10 });
        return found ?? {};
      };
      await fixture.splitAt(name, -10);
      const before = await chunk();
      await fixture.move(name, -1, 1);
      const after = await chunk();
      expectSame('the shard', after.shard, fixture.shardIds[1]);
      expectThat(
        'the major number of the version is higher',
        (after.lastmod as { t: number }).t > (before.lastmod as { t: number }).t,
        [before.lastmod, after.lastmod],
      );
    },
  },
  {
    name: 'views-are-not-collections',
    sentence: 'listCollections shows views by their type, with what they read and without a UUID.',
    source: 'corpus 02-catalog',
    otherwise: 'Views may be copied like collections.',
    async run(fixture) {
      const name = await fixture.collection([], { viewOn: 'any', pipeline: [{ $match: { a: 1 } }] });
      const listed = await fixture.listed(name);
      expectSame(
        'type, options and UUID',
        [listed?.type, listed?.options, (listed?.info as Document).uuid],
        ['view', { viewOn: 'any', pipeline: [{ $match: { a: 1 } }] }, undefined],
      );
    },
  },
  {
    name: 'options-come-back',
    sentence: 'listCollections returns the options of a collection as they were given.',
    source: 'corpus 02-catalog',
    otherwise: 'Convoy may create collections with other options on the destination.',
    async run(fixture) {
      const options = { validator: { a: { $type: 'int' } }, validationLevel: 'moderate', validationAction: 'warn' };
      const name = await fixture.collection([], options);
      const listed = await fixture.listed(name);
      expectSame('the options', listed?.options, options);
    },
  },
  {
    name: 'index-options-come-back',
    sentence: "listIndexes returns key and options of an index as they were given, with the key's fields in order.",
    source: 'corpus 02-catalog; corpus 15-attributes',
    otherwise: 'Convoy may create indexes with other options on the destination.',
    async run(fixture) {
      const name = await fixture.collection();
      const given = { key: { b: 1, a: -1 }, name: 'own', unique: true, sparse: true };
      const partial = { key: { c: 1 }, name: 'partial', partialFilterExpression: { c: { $gt: 5 } } };
      await fixture.done({ createIndexes: name, indexes: [given, partial] });
      expectSame('the first', await index(fixture, name, 'own'), { v: 2, ...given });
      expectSame('the second', await index(fixture, name, 'partial'), { v: 2, ...partial });
    },
  },
  {
    name: 'capped-sizes-come-back',
    sentence:
      'listCollections returns the size of a capped collection as it was given, or rounded up to a multiple of 256.',
    source: `${corpus}; manual: capped collections`,
    otherwise: 'Capped collections may be reported as different after the copy.',
    async run(fixture) {
      const name = await fixture.collection([], { capped: true, size: 100_001 });
      const listed = await fixture.listed(name);
      const size: unknown = (listed?.options as Document | undefined)?.size;
      expectThat('100001 or 100096', [100_001, 100_096].includes(size as number), size);
    },
  },
  {
    name: 'time-series-are-shown',
    sentence: 'listCollections shows time series by their type.',
    source: 'manual: time series',
    otherwise: 'A time series may be left out, or copied as something else.',
    async run(fixture) {
      const name = await fixture.collection([], { timeseries: { timeField: 'at' } });
      const listed = await fixture.listed(name);
      expectSame('the type', listed?.type, 'timeseries');
    },
  },
  {
    name: 'clustered-index-is-shown',
    sentence: 'listIndexes marks the index of a clustered collection, which has no other index on _id.',
    from: [6, 0, 0],
    source: 'manual: clustered collections',
    otherwise: 'Convoy may try to create an index that exists.',
    async run(fixture) {
      const name = await fixture.collection([], { clusteredIndex: { key: { _id: 1 }, unique: true } });
      const listed = await fixture.rows({ listIndexes: name });
      expectSame(
        'the indexes',
        listed.map(({ key, clustered }) => [key, clustered] as unknown),
        [[{ _id: 1 }, true]],
      );
    },
  },
  {
    name: 'wrong-uuid-of-a-definition-is-refused',
    sentence:
      'A drop, a rename, a collMod and an index with collectionUUID are refused with CollectionUUIDMismatch ' +
      '(361) if the collection has another UUID.',
    from: [6, 0, 0],
    source: 'manual: collectionUUID',
    otherwise: 'A slow leader may drop or rename a collection that has replaced another.',
    async run(fixture) {
      const [name, other] = [await fixture.collection(), await fixture.collection()];
      const collectionUUID = await fixture.uuid(other);
      expectRefused('a drop', await fixture.ask({ drop: name, collectionUUID }), 361);
      const rename = {
        renameCollection: `${fixture.db}.${name}`,
        to: `${fixture.db}.${fixture.newName()}`,
        collectionUUID,
      };
      expectRefused('a rename', await fixture.ask(rename, fixture.front, 'admin'), 361);
      expectRefused('a collMod', await fixture.ask({ collMod: name, validator: {}, collectionUUID }), 361);
      expectRefused(
        'an index',
        await fixture.ask({ createIndexes: name, indexes: [{ key: { a: 1 }, name: 'a_1' }], collectionUUID }),
        361,
      );
    },
  },
];

/** A collection whose shard key has two indexes. @returns its name and theirs */
async function twiceSupported(fixture: Fixture): Promise<[collection: string, exact: string, longer: string]> {
  const name = fixture.newName();
  await fixture.adminDone({ shardCollection: `${fixture.db}.${name}`, key: { k: 1 } });
  await fixture.index(name, { key: { k: 1, v: 1 }, name: 'longer' });
  return [name, 'k_1', 'longer'];
}

/** What servers refuse for the sake of a shard key. */
export const shardKeyIndexes: readonly Probe[] = [
  {
    name: 'last-key-index-is-not-dropped',
    sentence:
      'One of several indexes for a ranged shard key can be dropped; the last one is refused with ' +
      'CannotDropShardKeyIndex (370).',
    topology: 'sharded',
    from: [6, 0, 0],
    source: 'SERVER-6491; seen on 8.0.10',
    otherwise: 'A change of the only index of a shard key may end the migration.',
    async run(fixture) {
      const [name, exact, longer] = await twiceSupported(fixture);
      expectDone('the first drop', await fixture.ask({ dropIndexes: name, index: exact }));
      expectRefused('the second drop', await fixture.ask({ dropIndexes: name, index: longer }), 370);
    },
  },
  {
    name: 'last-key-index-is-not-hidden',
    sentence:
      'One of several indexes for a ranged shard key can be hidden; hiding the last one is refused with ' +
      'InvalidOptions (72).',
    topology: 'sharded',
    from: [8, 0, 0],
    source: 'server sources: coll_mod',
    otherwise: 'A hidden index may stay visible on the destination without need.',
    async run(fixture) {
      const [name, exact, longer] = await twiceSupported(fixture);
      const hide = (index: string) => fixture.ask({ collMod: name, index: { name: index, hidden: true } });
      expectDone('hiding the first', await hide(exact));
      expectRefused('hiding the second', await hide(longer), 72);
    },
  },
];
