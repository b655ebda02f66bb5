import { Binary } from 'mongodb';
import { randomBytes } from 'node:crypto';
import { expectRefused, expectSame, expectThat } from '../framework/expectation.js';
import { oneOnEachShard } from '../framework/fixture.js';
import type { Probe } from '../framework/probe.js';
import { at } from './reads-at-a-time.js';

const corpus = 'corpus 08-reads-at-a-time';
const two = [{ _id: 1 }, { _id: 2 }];

/** What UUIDs of collections identify. */
export const readsByUuid: readonly Probe[] = [
  {
    name: 'find-by-uuid',
    sentence: 'A shard accepts the UUID of a collection instead of its name, at a time too.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'The copy may read another collection of the same name.',
    async run(fixture) {
      const [name, time] = await fixture.filled(two);
      const uuid = await fixture.uuid(name, fixture.shard);
      expectSame('documents by UUID', await fixture.rows({ find: uuid, sort: { _id: 1 } }, fixture.shard), two);
      expectSame(
        'documents by UUID at a time',
        await fixture.rows({ find: uuid, sort: { _id: 1 }, ...at(time) }, fixture.shard),
        two,
      );
    },
  },
  {
    name: 'unknown-uuid-is-not-found',
    sentence: 'A find by an unknown UUID is refused with NamespaceNotFound (26).',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A collection that is gone may be copied as an empty one.',
    async run(fixture) {
      await fixture.collection(two);
      const uuid = new Binary(randomBytes(16), Binary.SUBTYPE_UUID);
      expectRefused('the find', await fixture.ask({ find: uuid }, fixture.shard), 26);
    },
  },
  {
    name: 'rename-keeps-uuid',
    sentence: 'A renamed collection keeps its UUID and can be read by it.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A renamed collection may be mistaken for a new one.',
    async run(fixture) {
      const name = await fixture.collection(two);
      const uuid = await fixture.uuid(name);
      const to = await fixture.rename(name);
      expectSame('the UUID', await fixture.uuid(to), uuid);
      expectSame('documents by UUID', await fixture.rows({ find: uuid, sort: { _id: 1 } }, fixture.shard), two);
    },
  },
  {
    name: 'made-again-has-new-uuid',
    sentence: 'A collection that is dropped and recreated under its name has another UUID.',
    source: 'corpus 02-catalog',
    otherwise: 'Changes of the former collection may be applied to the new one.',
    async run(fixture) {
      const name = await fixture.collection();
      const before = String(await fixture.uuid(name));
      await fixture.done({ drop: name });
      await fixture.done({ create: name });
      const after = String(await fixture.uuid(name));
      expectThat('another UUID', after !== before, [before, after]);
    },
  },
  {
    name: 'shards-share-the-uuid',
    sentence: 'A sharded collection has one UUID on its shards, behind the router and in the config database.',
    needs: ['direct', 'twoShards'],
    source: 'corpus 02-catalog',
    otherwise: 'Convoy may read a shard under an unknown UUID.',
    async run(fixture) {
      const name = await fixture.split(oneOnEachShard);
      const entry = await fixture.sharding(name);
      for (const on of [fixture.front, fixture.shard, fixture.otherShard])
        expectSame(`the UUID on ${on.name}`, await fixture.uuid(name, on), entry?.uuid);
    },
  },
  {
    name: 'wrong-uuid-is-refused',
    sentence:
      'A write with collectionUUID is refused with CollectionUUIDMismatch (361) if the collection has another ' +
      'UUID; the error names the actual collection.',
    from: [6, 0, 0],
    source: 'manual: collectionUUID',
    otherwise: 'A slow leader may write to a collection that has replaced another.',
    async run(fixture) {
      const [name, other] = [await fixture.collection(), await fixture.collection()];
      const reply = await fixture.ask({
        insert: name,
        documents: [{ _id: 1 }],
        collectionUUID: await fixture.uuid(other),
      });
      expectRefused('the insert', reply, 361);
      const refusal = (reply.ok === 1 ? (reply.writeErrors as Record<string, unknown>[])[0] : reply) ?? {};
      expectSame('actualCollection', refusal.actualCollection, other);
    },
  },
  {
    name: 'wrong-uuid-of-a-read-is-refused',
    sentence:
      'A find with collectionUUID, at a time too, is refused with CollectionUUIDMismatch (361) if the collection ' +
      'has another UUID or is missing.',
    from: [6, 0, 0],
    source: 'manual: collectionUUID',
    otherwise: 'Through a router a collection that is gone may be copied as an empty one.',
    async run(fixture) {
      const [name, other] = [await fixture.collection(), await fixture.collection()];
      const time = await fixture.insert(name, two);
      const collectionUUID = await fixture.uuid(other);
      for (const find of [name, fixture.newName()]) {
        expectRefused(`a find of ${find}`, await fixture.ask({ find, collectionUUID }), 361);
        expectRefused(`a find of ${find} at a time`, await fixture.ask({ find, collectionUUID, ...at(time) }), 361);
      }
    },
  },
];
