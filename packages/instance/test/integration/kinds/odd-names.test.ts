import { DBRef, ObjectId } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

interface Row {
  _id: number | string;
  n?: number;
}

/** Names that patterns, logs and clients may take for something else. */
const names = [
  'two\nlines',
  'tab\there',
  '^a.*(b|c)[d]+?',
  'back\\slash',
  '"quoted" \'twice\'',
  ' blanks around ',
  'dots..in.a.row',
  // Composed and decomposed: two collections.
  'caf\u00e9',
  'cafe\u0301',
  '\u202eright to left',
  '\ud83d\ude80 rocket',
  'Orders',
  'orders',
];

it('collections whose names look like patterns, or differ only in how they are composed, arrive apart', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const shop = fixture.cluster0.client.db('shop');
  for (const [n, name] of names.entries()) {
    await shop.collection<Row>(name).insertMany([{ _id: n }, { _id: 'twice', n }]);
    await shop.collection(name).createIndex({ n: 1 }, { name: `index of\n${name}` }, {});
  }
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  for (const [n, name] of names.entries())
    await shop.collection<Row>(name).updateOne({ _id: 'twice' }, { $set: { n: -n } });
  await shop.collection('two\nlines').rename('three\nlines\n');
  await shop.collection('late\r\nand odd').insertOne({ n: 1 });
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});

/** Enough for several partitions and write batches. */
const references = process.env['CONVOY_TEST_FULL'] === '1' ? 20_000 : 2_000;

it('references to documents are _ids like others: copied, changed, deleted and re-read', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const links = fixture.cluster0.client.db('shop').collection<{ _id: DBRef; n: number }>('links');
  const idOf = (n: number): DBRef => new DBRef('orders', ObjectId.createFromTime(n), n % 2 === 0 ? 'shop' : undefined);
  await links.insertMany(Array.from({ length: references }, (_, n) => ({ _id: idOf(n), n, $v: 2 })));
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  for (let n = 0; n < 60; n += 3) {
    await links.updateOne({ _id: { $eq: idOf(n) } }, { $set: { [`a.${n}`]: n, n: -n } });
    await links.updateOne({ _id: { $eq: idOf(n) } }, [{ $set: { list: ['$n', { $literal: { $v: 1, diff: {} } }] } }]);
    await links.deleteOne({ _id: { $eq: idOf(n + 1) } });
    const replaced = { $mergeObjects: [{ _id: '$_id' }, { $literal: { n, $v: 1, diff: { u: { n } } } }] };
    await links.updateOne({ _id: { $eq: idOf(n + 2) } }, [{ $replaceWith: replaced }]);
  }
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  expect(await fixture.cluster1.client.db('shop').collection('links').countDocuments()).toBe(references - 20);
  await expectEqualDatabases(fixture, 'shop');
});
