import { Binary, Double, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';
import { expectRefused, expectSame } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';

/** One value of each type, in index order. */
const inOrder: readonly unknown[] = [
  new MinKey(),
  null,
  -1,
  0,
  new Double(0.5),
  1,
  Long.fromNumber(2 ** 40),
  'A',
  'a',
  {},
  { a: 1 },
  { b: 1 },
  new Binary(Buffer.alloc(0)),
  new Binary(Buffer.of(1)),
  new ObjectId('000000000000000000000001'),
  false,
  true,
  new Date(0),
  new Timestamp({ t: 1, i: 1 }),
  new MaxKey(),
];
const byId = { hint: { _id: 1 }, sort: { _id: 1 } };
const documents = inOrder.map((_id, place) => ({ _id, place }));

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** How the index of `_id`s orders and bounds. */
export const orderAndBounds: readonly Probe[] = [
  {
    name: 'order-of-all-types',
    sentence: 'The _id index has one order over values of all types, and a sorted find returns them in it.',
    source: 'corpus 03-crud; manual: BSON comparison order',
    otherwise: 'Partitions may lack documents, or contain some twice.',
    async run(fixture) {
      const name = await fixture.collection([...documents].reverse());
      await fixture.expectRows('the order', { find: name, ...byId }, range(0, documents.length), 'place');
    },
  },
  {
    name: 'bounds-go-over-types',
    sentence: 'min and max bound the _id index over all types: min is inclusive, max is exclusive.',
    source: 'corpus 08-reads-at-a-time',
    otherwise: 'Partitions may lack documents of other types than their bounds.',
    async run(fixture) {
      const name = await fixture.collection(documents);
      for (const [from, to] of [
        [2, 9],
        [5, 16],
        [1, 19],
      ] as const) {
        const bounds = { min: { _id: inOrder[from] }, max: { _id: inOrder[to] } };
        await fixture.expectRows('what is between', { find: name, ...byId, ...bounds }, range(from, to), 'place');
      }
    },
  },
  {
    name: 'bounds-leave-max-key-out',
    sentence: 'A find with min alone leaves out a document whose _id is MaxKey; {_id: MaxKey} finds it.',
    source: 'measured on 5.0.7',
    otherwise: 'The document whose _id is MaxKey may be copied twice or not at all.',
    async run(fixture) {
      const name = await fixture.collection(documents);
      const last = documents.length - 1;
      const find = { find: name, ...byId };
      await fixture.expectRows('with min', { ...find, min: { _id: 'A' } }, range(7, last), 'place');
      const filter = { _id: new MaxKey() };
      await fixture.expectRows('by MaxKey', { ...find, filter }, [last], 'place');
    },
  },
  {
    name: 'equal-numbers-are-one-id',
    sentence: 'Numbers of all types with one value are one _id, also inside documents.',
    source: 'corpus 03-crud',
    otherwise: 'Events of one document may be applied in another order.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }, { _id: { a: 2, b: 3 } }]);
      for (const _id of [new Double(1), Long.fromNumber(1), { a: new Double(2), b: Long.fromNumber(3) }])
        expectRefused(
          'the second of two equal ones',
          await fixture.ask({ insert: name, documents: [{ _id }] }),
          11_000,
        );
      await fixture.insert(name, [{ _id: { b: 3, a: 2 } }]);
    },
  },
  {
    name: 'collation-makes-ids-equal',
    sentence: 'Under the collation of a collection, texts that it treats as equal are one _id.',
    source: 'manual: collation',
    otherwise: 'Events of one document may be applied in another order.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 'a' }, { _id: 'b' }], { collation: { locale: 'en', strength: 2 } });
      expectRefused(
        'the second of two equal ones',
        await fixture.ask({ insert: name, documents: [{ _id: 'A' }] }),
        11_000,
      );
      expectSame('what another case finds', await fixture.rows({ find: name, filter: { _id: 'B' } }), [{ _id: 'b' }]);
    },
  },
  {
    name: 'capped-order',
    sentence: 'A capped collection is read in insertion order, even after documents were changed.',
    source: 'manual: capped collections',
    otherwise: 'Documents of capped collections may arrive in another order.',
    async run(fixture) {
      const name = await fixture.collection(
        [3, 1, 2].map((_id) => ({ _id, v: 'a' })),
        { capped: true, size: 65_536 },
      );
      await fixture.update(name, { _id: 3 }, { $set: { v: 'b' } });
      await fixture.expectRows('the _ids', { find: name, sort: { $natural: 1 } }, [3, 1, 2], '_id');
    },
  },
  {
    name: 'hashes-of-shard-keys',
    sentence: 'The hash of a value in a hashed index is the one that Convoy computes.',
    needs: ['direct'],
    source: 'corpus 09-shard-key-hashes',
    otherwise: 'Documents of hashed collections may count as orphans.',
    async run(fixture) {
      const name = await fixture.collection(knownHashes.map(([k], _id) => ({ _id, k })));
      await fixture.index(name, { key: { k: 'hashed' }, name: 'k_hashed' });
      for (const [_id, [k, hash]] of knownHashes.entries()) {
        const bounds = { min: { k: Long.fromString(hash) }, max: { k: Long.fromString(hash).add(1) } };
        expectSame(
          `what has the hash ${hash}`,
          await fixture.rows({ find: name, hint: { k: 'hashed' }, ...bounds }, fixture.shard),
          [{ _id, k }],
        );
      }
    },
  },
  {
    name: 'single-batch-has-101',
    sentence: 'A find with singleBatch returns at most 101 documents without batchSize; with batchSize, that many.',
    source: 'measured on 5.0.7',
    otherwise: 'Convoy may miss parts of its metadata.',
    async run(fixture) {
      const name = await fixture.collection(range(0, 150).map((_id) => ({ _id })));
      const find = { find: name, singleBatch: true, limit: 150 };
      expectSame('without a batch size', (await fixture.rows(find)).length, 101);
      expectSame('with a batch size', (await fixture.rows({ ...find, batchSize: 150 })).length, 150);
    },
  },
];

/** Values with their hashes, as recorded. */
const knownHashes: readonly (readonly [value: unknown, hash: string])[] = [
  [null, '2338878944348059895'],
  [5, '4470791281878691347'],
  [new Double(-5.5), '-1180238566395260968'],
  [Long.MAX_VALUE, '921523596458303250'],
  ['a', '2780795045148116090'],
  ['ä', '-340267703504557410'],
  [{ a: 1 }, '-8705610352600103477'],
  [new ObjectId('65a000000000000000000001'), '-3571579035035771548'],
  [true, '6405873908747105701'],
  [new Date(1_700_000_000_000), '8482782861828707861'],
  [new Timestamp({ t: 1, i: 2 }), '6130793394493442031'],
];
