import type { Document } from 'mongodb';
import { codeIn, expectDone, expectRefused, expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import { type Fixture, oneOnEachShard } from '../framework/fixture.js';
import type { Probe } from '../framework/probe.js';

const corpus = 'corpus 03-crud';

/** `index` and `code` of each failed statement. */
function failures(reply: Document): unknown[] {
  return ((reply.writeErrors as Document[] | undefined) ?? []).map(({ index, code }) => [index, code] as unknown);
}

async function ids(fixture: Fixture, name: string): Promise<unknown[]> {
  return valuesOf(await fixture.rows({ find: name, sort: { _id: 1 } }), '_id');
}

/** Effects and replies of bulk writes. */
export const bulkWrites: readonly Probe[] = [
  {
    name: 'unordered-goes-on',
    sentence:
      'An unordered insert executes all statements except those that fail, and reports these by index and code.',
    source: corpus,
    otherwise: 'Documents after a duplicate key may not arrive, or Convoy reads the wrong document again.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 2 }, { _id: 4 }]);
      const reply = await fixture.ask({
        insert: name,
        documents: [1, 2, 3, 4, 5].map((_id) => ({ _id })),
        ordered: false,
      });
      expectSame('n', reply.n, 3);
      expectSame('the failures', failures(reply), [
        [1, 11_000],
        [3, 11_000],
      ]);
      expectSame('the documents', await ids(fixture, name), [1, 2, 3, 4, 5]);
    },
  },
  {
    name: 'ordered-stops',
    sentence: 'An ordered insert stops at the first statement that fails.',
    source: corpus,
    otherwise: 'Documents of capped collections may arrive in another order.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 2 }]);
      const reply = await fixture.ask({ insert: name, documents: [1, 2, 3].map((_id) => ({ _id })), ordered: true });
      expectSame('the failures', failures(reply), [[1, 11_000]]);
      expectSame('the documents', await ids(fixture, name), [1, 2]);
    },
  },
  {
    name: 'unordered-over-shards',
    sentence: 'An unordered bulk over shards reports failed statements by their index in the whole bulk.',
    needs: ['twoShards'],
    source: corpus,
    otherwise: 'Convoy reads the wrong documents again.',
    async run(fixture) {
      const name = await fixture.split(oneOnEachShard);
      const documents = [
        { _id: 3, sk: -1 },
        { _id: 2, sk: 1 },
        { _id: 4, sk: 1 },
        { _id: 1, sk: -1 },
      ];
      const reply = await fixture.ask({ insert: name, documents, ordered: false });
      const failed = (failures(reply) as number[][]).sort(([a = 0], [b = 0]) => a - b);
      expectSame('the failures', failed, [
        [1, 11_000],
        [3, 11_000],
      ]);
      expectSame('n', reply.n, 2);
    },
  },
  {
    name: 'duplicate-names-its-index',
    sentence: 'A duplicate key is reported with the pattern and the values of the index that refuses it.',
    source: corpus,
    otherwise: 'Convoy cannot tell a duplicate _id from one of another unique index.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1, u: 1 }]);
      await fixture.index(name, { key: { u: 1 }, name: 'u_1', unique: true });
      const { writeErrors } = (await fixture.ask({
        insert: name,
        documents: [{ _id: 2, u: 1 }, { _id: 1 }],
        ordered: false,
      })) as { writeErrors?: Document[] };
      expectSame(
        'keyPattern and keyValue',
        writeErrors?.map(({ keyPattern, keyValue }) => [keyPattern, keyValue] as unknown),
        [
          [{ u: 1 }, { u: 1 }],
          [{ _id: 1 }, { _id: 1 }],
        ],
      );
    },
  },
  {
    name: 'update-counts',
    sentence: 'An update returns how many documents it matched (n), changed (nModified) and inserted (upserted).',
    source: corpus,
    otherwise: 'A delta that matched nothing may go unnoticed.',
    async run(fixture) {
      const name = await fixture.collection([
        { _id: 1, v: 1 },
        { _id: 2, v: 1 },
      ]);
      const updates = [
        { q: { _id: 1 }, u: [{ $set: { v: 2 } }] },
        { q: { _id: 2 }, u: [{ $set: { v: 1 } }] },
        { q: { _id: 3 }, u: [{ $set: { v: 1 } }] },
        { q: { _id: 4 }, u: [{ $replaceWith: { $literal: { _id: 4 } } }], upsert: true },
      ];
      const { n, nModified, upserted }: Record<string, unknown> = await fixture.ask({
        update: name,
        updates,
        ordered: false,
      });
      expectSame('the counts', { n, nModified, upserted }, { n: 3, nModified: 1, upserted: [{ index: 3, _id: 4 }] });
    },
  },
  {
    name: 'delete-counts',
    sentence: 'A delete returns how many documents it removed; a missing one is no failure.',
    source: corpus,
    otherwise: 'A repeated delete may end the migration.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }]);
      const deletes = [1, 2].map((_id) => ({ q: { _id }, limit: 1 }));
      const reply = await fixture.ask({ delete: name, deletes, ordered: false });
      expectSame('the counts', [reply.n, codeIn(reply)], [1, 0]);
    },
  },
  {
    name: 'validation-is-bypassed',
    sentence: 'bypassDocumentValidation allows a document that the validator refuses.',
    source: 'manual: bypassDocumentValidation',
    otherwise: 'Old documents that a validator refuses do not arrive.',
    async run(fixture) {
      const name = await fixture.collection([], { validator: { v: { $type: 'string' } } });
      expectRefused('the insert', await fixture.ask({ insert: name, documents: [{ _id: 1 }] }), 121);
      expectDone(
        'the insert with the bypass',
        await fixture.ask({ insert: name, documents: [{ _id: 1 }], bypassDocumentValidation: true }),
      );
    },
  },
  {
    name: 'largest-document',
    sentence: 'A document of 16,777,216 bytes is accepted, and one of a byte more is refused.',
    source: 'manual: limits',
    otherwise: 'The largest documents do not arrive.',
    async run(fixture) {
      const name = await fixture.collection();
      const rest = 16_777_216 - documentBytesWithout;
      expectDone(
        'the insert of the largest',
        await fixture.ask({ insert: name, documents: [{ _id: 1, v: 'x'.repeat(rest) }] }),
      );
      const reply = await fixture.ask({ insert: name, documents: [{ _id: 2, v: 'x'.repeat(rest + 1) }] });
      expectThat('the next larger is refused', codeIn(reply) !== 0, codeIn(reply));
    },
  },
  {
    name: 'largest-document-with-its-key',
    sentence:
      'An insert of a document that exceeds 16 MB and 16 KB together with its _id and shard key is refused with ' +
      'BSONObjectTooLarge (10334); an update may make a document as large as that.',
    from: [6, 0, 0],
    source: 'server sources: entries of inserts',
    otherwise: 'A large document may not arrive, and Convoy does not say why.',
    async run(fixture) {
      const name = await fixture.collection();
      const [_id, v] = ['k'.repeat(100_000), 'x'.repeat(16_777_216 - 100_200)];
      expectRefused('the insert', await fixture.ask({ insert: name, documents: [{ _id, v }] }), 10_334);
      await fixture.insert(name, [{ _id }]);
      expectDone('the update', await fixture.ask({ update: name, updates: [{ q: { _id }, u: { $set: { v } } }] }));
    },
  },
  {
    name: 'limits-are-reported',
    sentence:
      'hello reports 16,777,216 bytes for a document, 48,000,000 for a message and 100,000 statements for a bulk.',
    source: 'corpus 01-handshake',
    otherwise: "Convoy's commands may be too large.",
    async run(fixture) {
      const { maxBsonObjectSize, maxMessageSizeBytes, maxWriteBatchSize } = await fixture.adminDone({ hello: 1 });
      expectSame(
        'the limits',
        [maxBsonObjectSize, maxMessageSizeBytes, maxWriteBatchSize],
        [16_777_216, 48_000_000, 100_000],
      );
    },
  },
];

/** Bytes of `{_id: 1, v: ''}`. */
const documentBytesWithout = 22;
