import { Binary } from 'mongodb';
import { randomBytes } from 'node:crypto';
import { expectRefused, expectSame, expectThat } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import { at } from './reads-at-a-time.js';

const corpus = 'corpus 08-reads-at-a-time';
const two = [{ _id: 1 }, { _id: 2 }];

/** What UUIDs of collections stand for. */
export const readsByUuid: readonly Probe[] = [
  {
    name: 'find-by-uuid',
    sentence: 'A shard takes the UUID of a collection in place of its name, at a time too.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'What is copied may be of another collection of the same name.',
    async run(scene) {
      const name = await scene.collection();
      const time = await scene.insert(name, two);
      const uuid = await scene.uuid(name, scene.shard);
      expectSame('documents by UUID', await scene.rows({ find: uuid, sort: { _id: 1 } }, scene.shard), two);
      expectSame('documents by UUID at a time', await scene.rows({ find: uuid, sort: { _id: 1 }, ...at(time) }, scene.shard), two);
    },
  },
  {
    name: 'unknown-uuid-is-not-found',
    sentence: 'A find by a UUID that no collection has is refused with NamespaceNotFound (26).',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A collection that is gone may be copied as an empty one.',
    async run(scene) {
      await scene.collection(two);
      const uuid = new Binary(randomBytes(16), Binary.SUBTYPE_UUID);
      expectRefused('the find', await scene.ask({ find: uuid }, scene.shard), 26);
    },
  },
  {
    name: 'rename-keeps-uuid',
    sentence: 'A collection keeps its UUID when it is renamed, and is read by it.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A renamed collection may be taken for a new one.',
    async run(scene) {
      const name = await scene.collection(two);
      const uuid = await scene.uuid(name);
      const to = scene.newName();
      await scene.adminDone({ renameCollection: `${scene.db}.${name}`, to: `${scene.db}.${to}` });
      expectSame('the UUID', await scene.uuid(to), uuid);
      expectSame('documents by UUID', await scene.rows({ find: uuid, sort: { _id: 1 } }, scene.shard), two);
    },
  },
  {
    name: 'made-again-has-new-uuid',
    sentence: 'A collection that is dropped and made again under its name has another UUID.',
    source: 'corpus 02-catalog',
    otherwise: 'Changes of the former collection may be applied to the new one.',
    async run(scene) {
      const name = await scene.collection();
      const before = String(await scene.uuid(name));
      await scene.done({ drop: name });
      await scene.done({ create: name });
      const after = String(await scene.uuid(name));
      expectThat('another UUID', after !== before, [before, after]);
    },
  },
  {
    name: 'shards-share-the-uuid',
    sentence: 'A sharded collection has one UUID on its shards, behind the router and in the config database.',
    needs: ['direct', 'twoShards'],
    source: 'corpus 02-catalog',
    otherwise: 'Convoy may read a shard under a UUID that it does not know.',
    async run(scene) {
      const name = await scene.split([{ _id: 1, sk: -1 }, { _id: 2, sk: 1 }]);
      const [entry] = await scene.rows({ find: 'collections', filter: { _id: `${scene.db}.${name}` } }, scene.front, 'config');
      for (const on of [scene.front, scene.shard, scene.otherShard]) expectSame(`the UUID on ${on.name}`, await scene.uuid(name, on), entry?.['uuid']);
    },
  },
  {
    name: 'wrong-uuid-is-refused',
    sentence: 'A write with collectionUUID is refused with CollectionUUIDMismatch (361) when the name has another one, and says whose it is.',
    from: [6, 0, 0],
    source: 'manual: collectionUUID',
    otherwise: 'A slow leader may write to a collection that has taken the place of another.',
    async run(scene) {
      const [name, other] = [await scene.collection(), await scene.collection()];
      const reply = await scene.ask({ insert: name, documents: [{ _id: 1 }], collectionUUID: await scene.uuid(other) });
      expectRefused('the insert', reply, 361);
      const refusal = (reply['ok'] === 1 ? (reply['writeErrors'] as Record<string, unknown>[])[0] : reply) ?? {};
      expectSame('actualCollection', refusal['actualCollection'], other);
    },
  },
  {
    name: 'wrong-uuid-of-a-read-is-refused',
    sentence: 'A find with collectionUUID, at a time too, is refused with CollectionUUIDMismatch (361) when the name has another one, and where there is none.',
    from: [6, 0, 0],
    source: 'manual: collectionUUID',
    otherwise: 'Behind a router a collection that is gone may be copied as an empty one.',
    async run(scene) {
      const [name, other] = [await scene.collection(), await scene.collection()];
      const time = await scene.insert(name, two);
      const collectionUUID = await scene.uuid(other);
      for (const find of [name, scene.newName()]) {
        expectRefused(`a find of ${find}`, await scene.ask({ find, collectionUUID }), 361);
        expectRefused(`a find of ${find} at a time`, await scene.ask({ find, collectionUUID, ...at(time) }), 361);
      }
    },
  },
];
