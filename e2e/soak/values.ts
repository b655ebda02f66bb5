import {
  Binary,
  BSONSymbol,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  MaxKey,
  ObjectId,
  Timestamp,
} from 'mongodb';

/**
 * `_id`s that are special to an index: of several types, equal though different in bytes, or at the ends of the order.
 */
const specialIds: readonly unknown[] = [
  new Int32(1),
  new Double(1),
  Long.fromInt(1),
  Decimal128.fromString('1.0'),
  'a',
  'A',
  new BSONSymbol('a'),
  null,
  new Double(NaN),
  { x: new Int32(2) },
  { x: Long.fromInt(2) },
  new Date(1_700_000_000_000),
  new ObjectId('65a000000000000000000001'),
  new Binary(Buffer.from('0123456789abcdef'), Binary.SUBTYPE_UUID),
  true,
  '',
  'long '.repeat(60),
  new Double(-0.5),
  new Timestamp({ t: 5, i: 1 }),
  new MaxKey(),
];

/** Numbers from here on stand for plain integer `_id`s. */
export const plainIdsFrom = specialIds.length;

/** The `_id` that a number of a history stands for. */
export function idOf(n: number): unknown {
  return n < plainIdsFrom ? specialIds[n] : new Int32(n);
}

/** Values of shard key fields; the last one is null. */
export const keyValues = 10;

/** The value of the field `k` that a number stands for. */
export function keyOf(n: number): unknown {
  return n % keyValues === keyValues - 1 ? null : new Int32(n % keyValues);
}

/** A whole document. Its shape depends on the number, its size a little too. */
export function documentOf(id: number, k: number, n: number): Document {
  const document: Document = { _id: idOf(id), k: keyOf(k), m: new Int32(n % 7), v: new Int32(n) };
  if (n % 3 !== 0) document['a'] = Array.from({ length: n % 6 }, (_, i) => new Int32(i * n));
  if (n % 4 !== 1) document['o'] = { x: new Int32(n), y: { z: 'deep' } };
  if (n % 5 === 2) document['ts'] = new Timestamp({ t: 0, i: 0 });
  if (n % 7 === 3) Object.assign(document, { 'dotted.name': new Int32(n), $dollar: 'kept' });
  if (n % 11 === 4) document['text'] = 'x'.repeat(2000);
  if (n % 2 === 0) document['u'] = new Int32(n % 40);
  return document;
}

const updates: readonly ((n: number) => Document | Document[])[] = [
  (n) => ({ $inc: { v: new Int32(1) }, $set: { [`f${n % 5}`]: new Int32(n) } }),
  (n) => ({ $push: { a: { $each: [new Int32(n)], $slice: -3 } } }),
  (n) => ({ $set: { 'a.1': new Int32(n), 'o.y.w': 'added' } }),
  () => ({ $unset: { 'o.x': '', text: '' } }),
  (n) => ({ $unset: { [`f${n % 5}`]: '' } }),
  (n) => [{ $set: { a: { $slice: [{ $ifNull: ['$a', []] }, 1 + (n % 3)] }, v: new Int32(n) } }],
  (n) => [{ $replaceWith: { $setField: { field: 'dotted.name', input: '$$ROOT', value: new Int32(n) } } }],
  (n) => [{ $replaceWith: { $setField: { field: { $literal: '$dollar' }, input: '$$ROOT', value: new Int32(n) } } }],
  () => ({ $rename: { v: 'renamed' } }),
  (n) => ({ $set: { ts: new Timestamp({ t: 0, i: 0 }), u: new Int32(n % 40) } }),
  () => ({ $pop: { a: 1 } }),
  (n) => ({ $set: { o: { y: new Int32(n) } } }),
  (n) => [{ $set: { a: [{ b: new Int32(n) }, new Int32(n), [new Int32(1), new Int32(2)]], 'o.q': '$v' } }],
  (n) => ({ $set: { 'a.0.b': new Int32(n), 'a.2.1': new Int32(n) } }),
];

/** An update of one document; none of them changes a shard key. */
export function updateOf(n: number): Document | Document[] {
  const update = updates[n % updates.length];
  if (update === undefined) throw new RangeError('no such update');
  return update(Math.floor(n / updates.length));
}
