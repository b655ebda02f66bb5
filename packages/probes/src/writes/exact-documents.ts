import { type Document, MaxKey, Timestamp } from 'mongodb';
import { codeIn, expectDone, expectRefused, expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import type { Fixture } from '../framework/fixture.js';

const zero = new Timestamp(0n);

/** The document of a collection with an `_id`. */
async function byId(fixture: Fixture, name: string, _id: unknown = 1): Promise<Document | undefined> {
  const [document] = await fixture.rows({ find: name, filter: { _id } });
  return document;
}

/** The command that upserts a whole document, as Convoy sends it when the document may exist. */
function upsert(name: string, document: Document, q: Document = { _id: document._id as unknown }): Document {
  return { update: name, updates: [{ q, u: [{ $replaceWith: { $literal: document } }], upsert: true }] };
}

/** How servers store what is written: names and order of fields, zero timestamps, shard keys. */
export const exactDocuments: readonly Probe[] = [
  {
    name: 'insert-keeps-fields',
    sentence: 'An insert stores fields in order, even those whose names start with $ or contain dots.',
    source: 'corpus 03-crud',
    otherwise: 'Documents with such fields arrive changed, or not at all.',
    async run(fixture) {
      const document = { _id: 1, b: 1, $a: 1, 'c.d': { $e: 1, 'f.g': 2 }, a: 1, '': 0 };
      const name = await fixture.collection();
      expectDone('the insert', await fixture.ask({ insert: name, documents: [document] }));
      expectSame('what is stored', await byId(fixture, name), document);
    },
  },
  {
    name: 'upsert-keeps-fields',
    sentence: 'An upsert by [{$replaceWith: {$literal: …}}] stores exactly that document, whether it existed or not.',
    source: 'corpus 03-crud',
    otherwise: 'Documents that Convoy reads again arrive changed.',
    async run(fixture) {
      const name = await fixture.collection();
      for (const document of [
        { _id: 1, b: 1, $a: 1, 'c.d': 2 },
        { _id: 1, z: { $e: 1 }, 'f.g': '$b', t: zero },
      ]) {
        expectDone('the upsert', await fixture.ask(upsert(name, document)));
        expectSame('what is stored', await byId(fixture, name), document);
      }
    },
  },
  {
    name: 'insert-replaces-zero-timestamps',
    sentence: 'An insert replaces Timestamp(0, 0) in a top-level field, and keeps it elsewhere.',
    source: 'corpus 03-crud',
    otherwise: 'Nothing is lost: Convoy upserts such documents.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, t: zero, inner: { t: zero } }]);
      const stored = await byId(fixture, name);
      expectThat('the top level has the current time', !zero.equals(stored?.t as Timestamp), stored);
      expectSame('the inner field', stored?.inner, { t: zero });
    },
  },
  {
    name: 'bypass-keeps-zero-timestamps',
    sentence: 'bypassEmptyTsReplacement lets an insert keep Timestamp(0, 0).',
    from: [8, 0, 0],
    backports: [
      [7, 0, 13],
      [6, 0, 17],
      [5, 0, 29],
    ],
    source: 'manual: bypassEmptyTsReplacement; SERVER-88750',
    otherwise: 'Nothing is lost: Convoy upserts such documents.',
    async run(fixture) {
      const name = await fixture.collection();
      expectDone(
        'the insert',
        await fixture.ask({ insert: name, documents: [{ _id: 1, t: zero }], bypassEmptyTsReplacement: true }),
      );
      expectSame('what is stored', await byId(fixture, name), { _id: 1, t: zero });
    },
  },
  {
    name: 'stage-adds-in-order',
    sentence: 'A $set stage adds new fields at the end in the given order, and leaves others in place.',
    source: 'corpus 16-found-data',
    otherwise: 'Fields of updated documents may be in another order than on the source.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, m: 0, k: 0 }]);
      await fixture.update(name, { _id: 1 }, [
        { $set: { z: { $literal: 1 }, m: { $literal: 2 }, a: { $literal: 3 } } },
      ]);
      expectSame('the document', await byId(fixture, name), { _id: 1, m: 2, k: 0, z: 1, a: 3 });
    },
  },
  {
    name: 'operator-adds-by-name',
    sentence: 'The $set operator adds new fields in the order of their names.',
    source: 'manual: update operators',
    otherwise: 'Fields of updated documents may be in another order than on the source.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }]);
      await fixture.update(name, { _id: 1 }, { $set: { z: 1, a: 1, m: 1 } });
      expectSame('the document', await byId(fixture, name), { _id: 1, a: 1, m: 1, z: 1 });
    },
  },
  {
    name: 'set-again-in-one-pipeline',
    sentence:
      'A field that one stage of a pipeline unsets and a later one sets keeps its place, unless the first stage ' +
      'unsets it (8.0); two updates put it at the end.',
    source: 'measured on 5.0.7; server: db/exec/exclusion_projection_executor.cpp',
    otherwise: 'Merged updates may result in another order of fields.',
    async run(fixture) {
      const name = await fixture.collection([
        { _id: 1, a: 1, b: 1 },
        { _id: 2, a: 1, b: 1 },
      ]);
      await fixture.update(name, { _id: 1 }, [{ $set: { b: 2 } }, { $unset: ['a'] }, { $set: { a: 2 } }]);
      await fixture.update(name, { _id: 2 }, [{ $unset: ['a'] }]);
      await fixture.update(name, { _id: 2 }, [{ $set: { a: 2 } }]);
      expectSame('by one pipeline', await byId(fixture, name), { _id: 1, a: 2, b: 2 });
      expectSame('by two updates', await byId(fixture, name, 2), { _id: 2, b: 1, a: 2 });
    },
  },
  {
    name: 'new-document-keeps-no-places',
    sentence:
      'A document that $mergeObjects makes anew keeps no places of removed fields: a field set again is the last.',
    source: 'server: db/pipeline/accumulator_merge_objects.cpp',
    untriedOn: [[5, 0, 7]],
    otherwise: 'Fields of updated documents may be in another order than on the source.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, a: 1, in: { a: 1, b: 1 }, b: 1 }]);
      const without = (input: string): Document => ({
        $mergeObjects: [{ $unsetField: { field: { $literal: 'a' }, input } }],
      });
      await fixture.update(name, { _id: 1 }, [
        { $set: { b: 2 } },
        { $replaceWith: without('$$ROOT') },
        { $set: { in: without('$in') } },
        { $set: { a: 2, 'in.a': 2 } },
      ]);
      expectSame('the document', await byId(fixture, name), { _id: 1, in: { b: 1, a: 2 }, b: 2, a: 2 });
    },
  },
  {
    name: 'unset-of-what-is-not-there',
    sentence: 'A stage that unsets a missing field, or sets an equal value, changes nothing and shows no event.',
    source: 'corpus 04-events-documents',
    otherwise: 'The comparison may see changes that never happened.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1, a: 1 }]);
      const reply = await fixture.done({
        update: name,
        updates: [{ q: { _id: 1 }, u: [{ $unset: ['z'] }, { $set: { a: 1 } }] }],
      });
      expectSame('n and nModified', [reply.n, reply.nModified], [1, 0]);
      const { events } = await fixture.read({ collection: name, at });
      expectSame('the events', valuesOf(events, 'operationType'), ['insert']);
    },
  },
  {
    name: 'set-field-takes-any-name',
    sentence: '$setField and $unsetField treat a field name literally, with dots and dollars.',
    source: 'corpus 04-events-documents',
    otherwise: 'Updates of such fields may change others.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, a: { b: 1 }, 'a.b': 2 }]);
      const field = { $literal: 'a.b' };
      await fixture.update(name, { _id: 1 }, [{ $replaceWith: { $setField: { field, input: '$$ROOT', value: 3 } } }]);
      expectSame('after $setField', await byId(fixture, name), { _id: 1, a: { b: 1 }, 'a.b': 3 });
      await fixture.update(name, { _id: 1 }, [{ $replaceWith: { $unsetField: { field, input: '$$ROOT' } } }]);
      expectSame('after $unsetField', await byId(fixture, name), { _id: 1, a: { b: 1 } });
    },
  },
  {
    name: 'full-key-reaches-one-shard',
    sentence:
      'An upsert by the whole shard key runs on the shard that owns the document; null matches a missing field ' +
      'of the key.',
    needs: ['twoShards'],
    source: 'corpus 03-crud',
    otherwise: 'Documents without a field of their shard key do not arrive.',
    async run(fixture) {
      const name = await fixture.split();
      for (const [document, q] of [
        [
          { _id: 1, sk: 5 },
          { sk: 5, _id: 1 },
        ],
        [
          { _id: 2, v: 1 },
          { sk: null, _id: 2 },
        ],
      ] as const) {
        expectDone('the upsert', await fixture.ask(upsert(name, document, q)));
        expectDone('the repeated upsert', await fixture.ask(upsert(name, document, q)));
        expectSame('what is stored', await byId(fixture, name, document._id), document);
      }
    },
  },
  {
    name: 'wrong-key-matches-nothing',
    sentence: "A write with another shard-key value than the document's matches nothing.",
    needs: ['twoShards'],
    source: 'corpus 03-crud',
    otherwise: 'A write may touch a document that another instance owns.',
    async run(fixture) {
      const name = await fixture.split([{ _id: 1, sk: 5 }]);
      for (const sk of [-5, 6])
        expectSame(`n of a delete by sk ${sk}`, (await fixture.remove(name, { sk, _id: 1 })).n, 0);
    },
  },
  {
    name: 'id-is-unique-per-shard',
    sentence: 'One _id under two shard keys is refused (11000) if both are on one shard, and accepted if they are not.',
    needs: ['twoShards'],
    source: 'corpus 03-crud',
    otherwise: 'Documents with equal _ids may be lost.',
    async run(fixture) {
      const name = await fixture.split([{ _id: 1, sk: -1 }]);
      expectRefused(
        'the insert on the same shard',
        await fixture.ask({ insert: name, documents: [{ _id: 1, sk: -2 }] }),
        11_000,
      );
      expectDone('the insert on the other shard', await fixture.ask({ insert: name, documents: [{ _id: 1, sk: 1 }] }));
    },
  },
  {
    name: 'max-key-in-shard-key-is-refused',
    sentence:
      'A ranged shard key cannot be MaxKey (61); from 6.0 on the document may also be stored, and is then found.',
    topology: 'sharded',
    source: 'measured on 5.0.7',
    otherwise: 'Documents at MaxKey may belong to no range.',
    async run(fixture) {
      const name = fixture.newName();
      await fixture.adminDone({ shardCollection: `${fixture.db}.${name}`, key: { _id: 1 } });
      const reply = await fixture.ask({ insert: name, documents: [{ _id: new MaxKey() }] });
      if (!fixture.isAtLeast(6, 0, 0)) expectRefused('the insert', reply, 61);
      else
        expectThat(
          'the insert is refused, or the document is found',
          codeIn(reply) !== 0 || (await byId(fixture, name, new MaxKey())) !== undefined,
          reply.n,
        );
    },
  },
];
